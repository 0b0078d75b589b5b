// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/manifest_run.h"

#include <algorithm>

#include "runtime/checkpoint/names.h"
#include "runtime/checkpoint/sibling_run.h"
#include "runtime/manifest/show.h"
#include "runtime/monitored/default_hooks.h"
#include "runtime/monitored/fingerprint.h"
#include "runtime/ops/parallel.h"
#include "runtime/ops/registry.h"
#include "runtime/platform/text.h"

namespace belay::runtime {
namespace {

constexpr const char* kEvalFolder = "eval";  // in the place for events: the evaluation's own files

// What the manifest leaves out, put in: the default hooks and the default saver.
Manifest completed(Manifest manifest) {
  manifest.hooks = hooks_of_run(manifest);
  if (!manifest.scaffold.saver) manifest.scaffold.saver = plugin_use("safetensors", {}, "the default saver");
  return manifest;
}

RunHostOptions host_options(const Manifest& manifest) {
  RunHostOptions options;
  options.dir = manifest.run.dir;
  options.threads = static_cast<int>(manifest.run.threads);
  options.seed = manifest.run.seed;
  options.marks_attempt = true;
  options.checkpoint = manifest.checkpoint;
  options.session = manifest.session;
  return options;
}

}  // namespace

ManifestRun::ManifestRun(Manifest manifest, ManifestRunOptions options, const World& world, Environment environment,
                         RunControl& control)
    : manifest_(std::move(manifest)),
      options_(options),
      environment_(std::move(environment)),
      host_(world, control, host_options(manifest_)),
      ops_(make_op_registry()),
      model_(*ops_, Mode::kTrain),
      plugins_(host_, manifest_, environment_),
      training_(host_, {.saves = true}) {
  for (const auto& [name, section] : manifest_.inputs)
    inputs_.emplace(name, RunInput{.name = name, .monitor = host_.add_monitor(), .prefetch = section.prefetch});
}

ManifestRun::~ManifestRun() = default;

const RunInput* ManifestRun::input(const std::string& name) const {
  const auto found = inputs_.find(name);
  return found == inputs_.end() ? nullptr : &found->second;
}

// ---- plugins ----

bool ManifestRun::find_plugins(Diagnostics& problems) {
  const bool usable = plugins_.find(completed(manifest_), environment_, problems);
  const std::string reason = why_not(manifest_.session.precision, plugins_.cpu());
  if (!reason.empty())
    problems.add(manifest_.at("session.precision"), reason, "leave session.precision out, or write \"float32\"");
  const std::string no_team = why_no_team(host_.environment().session.threads);
  if (!no_team.empty())
    problems.add(manifest_.at("run.threads"), no_team, "unset OMP_THREAD_LIMIT, or leave run.threads out");
  return usable;
}

void ManifestRun::load_plugins() {
  plugins_.load();
  plugins_.add_ops(*ops_);
  const ResolvedPlugins& found = plugins_.found();
  host_.use_codec(saver_use(plugins_.create(plugins_.loaded(*found.saver), host_.monitor())));
  model_instance_ = &plugins_.create(plugins_.loaded(*found.model), host_.monitor());
  for (const auto& [name, input] : found.inputs) {
    RunInput& opened = inputs_.at(name);
    opened.instance = &plugins_.create(plugins_.loaded(input), opened.monitor);
  }
  for (const ResolvedPlugin& p : found.init_fns) training_.add_init_fn(plugins_.loaded(p));
  for (const ResolvedPlugin& p : found.hooks) training_.add_hook(plugins_.loaded(p));
}

void ManifestRun::build_scaffold() {
  RunInput& input = inputs_.at("train");
  input.open(manifest_.run.seed);
  if (const auto eval = inputs_.find("eval"); eval != inputs_.end()) eval->second.open(manifest_.run.seed);
  model_.build(*model_instance_, input);
  if (!model_.add_training(manifest_.optimizer))
    host_.log().warning("",
                        "nothing of the input reaches the training step: neither features nor labels are used by "
                        "the loss; each step takes a batch all the same");
  input.feed->prime();
}

// ---- the directory ----

void ManifestRun::tell_last_attempt() const {
  const std::string& dir = manifest_.run.dir;
  try {
    if (dir.empty() || !host_.files().exists(dir)) return;
    const std::string how = AttemptMark::last_attempt(*host_.files().open_directory(dir));
    if (!how.empty()) host_.log().warning("", how);
  } catch (const Error& e) {
    host_.log().warning("", std::string("the run directory cannot be read: ") + e.what());
  }
}

void ManifestRun::open_directory() {
  if (!host_.has_directory()) return;
  host_.keep_directory();
  if (options_.from_scratch) start_over();
  say_new_run();
  write_manifest();
  training_.open_events();
}

// Where a name was mistyped this is the only sign of it.
void ManifestRun::say_new_run() {
  const OpenDirectory& run = host_.directory();
  const std::vector<std::string> entries = run.entries();
  const auto is_of_a_run = [](const std::string& e) { return e == kStateFileName || step_of_checkpoint(e); };
  if (std::any_of(entries.begin(), entries.end(), is_of_a_run)) return;
  std::string text = "a new run in " + escaped(run.path());
  if (!options_.from_scratch)
    if (const auto sibling = find_sibling_run(host_.files(), run.path(), model_.graph.variables_digest()))
      text += "; " + escaped(sibling->path) + " holds checkpoints of this model, the newest of step " +
              std::to_string(sibling->step) + ": to go on from there, set run.dir";
  host_.log().info("", text);
}

void ManifestRun::write_manifest() { host_.directory().replace("manifest.toml", effective_manifest(manifest_)); }

// Nothing is deleted: what an earlier run left goes into a directory beside it.
void ManifestRun::start_over() {
  OpenDirectory& run = host_.directory();
  std::vector<std::string> found;
  for (const std::string& name : run.entries())
    if (name != kLockName && name != kAttemptName && name.rfind("before-", 0) != 0) found.push_back(name);
  if (found.empty()) return;
  std::string aside;
  for (int i = 1;; ++i) {
    aside = "before-" + std::to_string(i);
    if (!run.exists(aside)) break;
  }
  run.make_directory(aside);
  for (const std::string& name : found)
    host_.files().rename(run.path() + "/" + name, run.path() + "/" + aside + "/" + name);
  run.sync();
  host_.log().info("", "--from-scratch: what an earlier run left is now in " + escaped(run.path()) + "/" + aside);
}

// ---- modes ----

TrainingResult ManifestRun::train(const std::function<void()>& on_step) {
  if (host_.has_directory())
    host_.open_saver(fingerprint_of(host_.environment(), plugins_.registry()), training_.events());
  TrainingResult result = runtime::train(training_, model_, {.max_steps = manifest_.run.max_steps, .on_step = on_step});
  trained_ = result.trained;
  return result;
}

std::optional<EvalResult> ManifestRun::evaluate(const std::function<void()>& on_batch) {
  const RunInput* input = this->input("eval");
  if (input == nullptr || trained_ == nullptr) return std::nullopt;
  input->feed->prime();
  EvalResult result = runtime::evaluate(*ops_, host_.environment(), *model_instance_, input->feed, *trained_, [&] {
    on_batch();
    return !host_.control().stopping();
  });
  // Its own folder, a run of its own for TensorBoard: a late evaluation must not erase points of the training.
  SessionHost evaluation(host_, {.events_folder = kEvalFolder});
  evaluation.open_events();
  if (evaluation.events() != nullptr)
    for (const auto& [name, value] : result.metrics) evaluation.events()->add_scalar(name, result.global_step, value);
  return result;
}

std::string ManifestRun::activity() const {
  const std::string library = plugins_.loading();
  if (!library.empty()) return "plugin '" + escaped(library) + "', which is being loaded";
  std::string text;
  for (const CallMonitor* m : host_.monitors()) {
    const PluginInstance* instance = m->instance.load();
    const char* callback = m->callback.load();
    if (instance == nullptr || callback == nullptr) continue;
    const std::int64_t step = m->step.load();
    text += (text.empty() ? "" : "; ") + instance->label() + " in " + callback +
            (step < 0 ? "" : " at step " + std::to_string(step));
  }
  return text;
}

}  // namespace belay::runtime
