// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/training_run.h"

#include <algorithm>
#include <cstdlib>

#include "belay/ops/variables.h"
#include "runtime/checkpoint/names.h"
#include "runtime/checkpoint/sibling_run.h"
#include "runtime/data/make_queue.h"
#include "runtime/events/graph_def.h"
#include "runtime/graph/graph_service.h"
#include "runtime/manifest/show.h"
#include "runtime/monitored/default_hooks.h"
#include "runtime/monitored/fingerprint.h"
#include "runtime/monitored/host_services.h"
#include "runtime/ops/parallel.h"
#include "runtime/ops/plugin_op.h"
#include "runtime/ops/registry.h"
#include "runtime/platform/spinning.h"
#include "runtime/platform/text.h"
#include "runtime/session/session_service.h"

namespace belay::runtime {

void RunControl::stop(const std::string& reason) {
  const std::lock_guard lock(mutex_);
  if (!stopping_) reason_ = reason;
  stopping_ = true;
}

void RunControl::wake(const Error& reason) {
  interrupt_.cancel(reason);
  const std::lock_guard lock(mutex_);
  if (session_ != nullptr) session_->interrupt(reason);
}

RunControl::Interruptible::Interruptible(RunControl& control, MonitoredSession& session) : control_(control) {
  const std::lock_guard lock(control_.mutex_);
  control_.session_ = &session;
}

RunControl::Interruptible::~Interruptible() {
  const std::lock_guard lock(control_.mutex_);
  control_.session_->resume();
  control_.session_ = nullptr;
}

std::string RunControl::stop_reason() const {
  const std::lock_guard lock(mutex_);
  return reason_;
}

void RunControl::note_saved(const std::string& path, std::int64_t step) {
  const std::lock_guard lock(mutex_);
  saved_path_ = path;
  saved_step_ = step;
}

std::string RunControl::what_is_kept() const {
  const std::lock_guard lock(mutex_);
  const std::int64_t step = step_.load(std::memory_order_relaxed);
  if (saved_path_.empty())
    return step < 0 ? "nothing was saved since the start, the next one goes on from where this one did"
                    : "nothing was saved, the next start begins at step 0";
  const std::int64_t lost = std::max<std::int64_t>(step - saved_step_, 0);
  return "saved is " + escaped(saved_path_) + ", from which the next start goes on; " +
         (lost == 0 ? "no step is lost" : std::to_string(lost) + (lost == 1 ? " step is lost" : " steps are lost"));
}

// The plugins of the run: found, loaded, made into instances.
struct TrainingRun::Plugins {
  Plugins(const Manifest& manifest, const Environment& environment)
      : search(plugin_search_path(manifest.plugins.path, environment), policy, cpu),
        loader(policy, cpu, environment("LD_LIBRARY_PATH").value_or("")) {}

  FilePolicy policy;
  CpuFeatures cpu;
  PluginSearch search;
  Loader loader;
  Registry registry;
  ResolvedPlugins resolved;
  PluginInstances instances;
  PluginInstance* model = nullptr;
  PluginInstance* saver = nullptr;
  std::map<std::string, PluginInstance*> inputs;
  std::vector<PluginInstance*> init_fns;
};

namespace {

constexpr const char* kEvalDirectory = "eval";  // in the run directory: the evaluation's own event files

int threads_of(const Manifest& manifest) {
  return manifest.run.threads == 0 ? available_threads() : static_cast<int>(manifest.run.threads);
}

// What the manifest leaves out, put in: the default hooks and the default saver.
Manifest completed(Manifest manifest) {
  manifest.hooks = hooks_of_run(manifest);
  if (!manifest.scaffold.saver) {
    PluginUse saver;
    saver.plugin = "safetensors";
    saver.at.file = saver.plugin_at.file = "the default saver";
    manifest.scaffold.saver = saver;
  }
  return manifest;
}

}  // namespace

TrainingRun::TrainingRun(Manifest manifest, TrainingRunOptions options, World world, RunControl& control)
    : manifest_(std::move(manifest)),
      options_(options),
      world_(std::move(world)),
      control_(control),
      files_(watched_files(world_.files, control.disk())),
      environment_{world_.clock,
                   world_.log,
                   *files_,
                   targets_,
                   control.interrupt(),
                   SessionOptions{threads_of(manifest_), manifest_.run.seed, make_queue, &world_.clock,
                                  manifest_.session.precision}},
      ops_(make_op_registry()),
      graph_(*ops_),
      services_(world_.log, world_.clock, manifest_.run.dir, manifest_.run.seed) {
  add_session_services(services_);
  services_.set_context(&environment_);
  services_.set_context(&events_);
}

TrainingRun::~TrainingRun() = default;

bool TrainingRun::find_plugins(Diagnostics& problems) {
  plugins_ = std::make_unique<Plugins>(manifest_, world_.environment);
  for (const std::string& w : plugins_->search.warnings()) world_.log.warning("plugins", w);
  PluginResolver resolver(plugins_->registry, plugins_->search, plugins_->policy, plugins_->cpu,
                          {manifest_.directory, world_.environment}, problems);
  plugins_->resolved = resolver.resolve(completed(manifest_));
  for (const std::string& w : resolver.warnings()) world_.log.warning("plugins", w);
  const std::string reason = why_not(manifest_.session.precision, plugins_->cpu);
  if (!reason.empty())
    problems.add(manifest_.session.precision_at, reason, "leave session.precision out, or write \"float32\"");
  const std::string no_team = why_no_team(environment_.session.threads);
  if (!no_team.empty())
    problems.add(manifest_.run.threads_at, no_team, "unset OMP_THREAD_LIMIT, or leave run.threads out");
  return !resolver.plugin_failed();
}

PluginInstance& TrainingRun::create(const ResolvedPlugin& plugin, CallMonitor& monitor) {
  const RegisteredPlugin& registered = load_plugin(plugin, plugins_->loader, plugins_->registry);
  return plugins_->instances.create(registered, plugin, services_, monitor,
                                    number_of(registered.label(plugin.instance_name, plugin.at)));
}

void TrainingRun::load(const ResolvedPlugin& plugin) {
  CallPlace& place = *monitor_.place.load();
  if (mark_ != nullptr && !plugin.file.empty())
    place.call = number_of("plugin '" + escaped(plugin.file) + "', which was being loaded") * std::uint64_t{256};
  load_plugin(plugin, plugins_->loader, plugins_->registry);
  place.call = 0;
}

void TrainingRun::load_plugins() {
  const ResolvedPlugins& resolved = plugins_->resolved;
  // All libraries first: a refused one shows before any plugin's code has done anything but initialize its globals.
  std::size_t told = 0;
  const auto load = [&](const ResolvedPlugin& p) {
    this->load(p);
    const std::vector<std::string>& warnings = plugins_->loader.warnings();
    for (; told < warnings.size(); ++told) world_.log.warning("plugins", warnings[told]);
  };
  for (const auto& [name, input] : resolved.inputs) load(input);
  load(*resolved.model);
  load(*resolved.saver);
  for (const ResolvedPlugin& p : resolved.init_fns) load(p);
  for (const ResolvedPlugin& p : resolved.hooks) load(p);
  for (const ResolvedPlugin& p : resolved.ops) load(p);
  plugins_->loader.rest();

  add_plugin_ops();
  plugins_->saver = &create(*resolved.saver, monitor_);
  plugins_->model = &create(*resolved.model, monitor_);
  for (const auto& [name, input] : resolved.inputs)
    plugins_->inputs[name] = &create(input, name == "eval" ? eval_monitor_ : input_monitor_);
  for (const ResolvedPlugin& p : resolved.init_fns) plugins_->init_fns.push_back(&create(p, monitor_));
  for (const ResolvedPlugin& p : resolved.hooks) hooks_.add(SessionHook(create(p, monitor_), world_.log, p.on_error));
}

// Every operation of every library that the run uses: those of [[ops]], and those that stand beside a model or a hook.
void TrainingRun::add_plugin_ops() {
  for (const RegisteredPlugin& p : plugins_->registry.plugins()) {
    if (p.info.kind != PluginKind::kOp) continue;
    ResolvedPlugin use;
    use.instance_name = p.info.name;
    for (const ResolvedPlugin& named : plugins_->resolved.ops)
      if (named.info.name == p.info.name && named.file == p.file) use.at = named.at;
    add_plugin_op(
        *ops_, plugins_->instances.create(p, use, services_, monitor_, number_of(p.label(use.instance_name, use.at))));
  }
}

std::shared_ptr<InputFeed> TrainingRun::open_input(const std::string& name) {
  InputFeed::Options options;
  options.name = name;
  options.prefetch = manifest_.inputs.at(name).prefetch;
  options.seed = manifest_.run.seed;
  return InputFeed::open(*plugins_->inputs.at(name), options);
}

void TrainingRun::build_scaffold() {
  train_input_ = open_input("train");
  if (plugins_->inputs.count("eval") != 0) eval_input_ = open_input("eval");
  const InputFeed::Tensors tensors = train_input_->add_to_graph(graph_);
  model_ = build_model(*plugins_->model, graph_, Mode::kTrain, tensors.features, tensors.labels);
  add_train_op(graph_, manifest_.optimizer, model_);
  if (take_batch(graph_, tensors.batch, model_))
    world_.log.warning("",
                       "nothing of the input reaches the training step: neither features nor labels are used by "
                       "the loss; each step takes a batch all the same");
  train_input_->prime();
}

void TrainingRun::take_directory() {
  if (manifest_.run.dir.empty()) return;
  directory_ = RunDirectory::open(*files_, manifest_.run.dir, world_.clock, world_.log);
  mark_ = directory_->mark_attempt(world_.clock, world_.log);
  if (mark_ == nullptr) return;
  monitor_.place = mark_->place(0);
  input_monitor_.place = mark_->place(1);
  eval_monitor_.place = mark_->place(2);
}

void TrainingRun::tell_last_attempt() const {
  const std::string& dir = manifest_.run.dir;
  try {
    if (dir.empty() || !world_.files.exists(dir)) return;
    const std::string how = AttemptMark::last_attempt(*world_.files.open_directory(dir));
    if (!how.empty()) world_.log.warning("", how);
  } catch (const Error& e) {
    world_.log.warning("", std::string("the run directory cannot be read: ") + e.what());
  }
}

void TrainingRun::open_directory() {
  if (!directory_) return;
  directory_->keep();
  if (options_.from_scratch) start_over();
  say_new_run();
  write_manifest();
  events_ = RunEvents(directory_->directory(), world_.clock, world_.log);
}

// Where a name was mistyped this is the only sign of it.
void TrainingRun::say_new_run() {
  const OpenDirectory& run = directory_->directory();
  const std::vector<std::string> entries = run.entries();
  const auto is_of_a_run = [](const std::string& e) { return e == kStateFileName || step_of_checkpoint(e); };
  if (std::any_of(entries.begin(), entries.end(), is_of_a_run)) return;
  std::string text = "a new run in " + escaped(run.path());
  if (!options_.from_scratch)
    if (const auto sibling = find_sibling_run(*files_, run.path(), graph_.variables_digest()))
      text += "; " + escaped(sibling->path) + " holds checkpoints of this model, the newest of step " +
              std::to_string(sibling->step) + ": to go on from there, set run.dir";
  world_.log.info("", text);
}

void TrainingRun::write_manifest() { directory_->directory().replace("manifest.toml", effective_manifest(manifest_)); }

// Nothing is deleted: what an earlier run left goes into a directory beside it.
void TrainingRun::start_over() {
  OpenDirectory& run = directory_->directory();
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
  for (const std::string& name : found) files_->rename(run.path() + "/" + name, run.path() + "/" + aside + "/" + name);
  run.sync();
  world_.log.info("", "--from-scratch: what an earlier run left is now in " + escaped(run.path()) + "/" + aside);
}

MonitoredSessionOptions TrainingRun::session_options() {
  MonitoredSessionOptions options;
  options.stop_grace_period_secs = manifest_.session.stop_grace_period_secs;
  options.recovery = {manifest_.session.max_recoveries, manifest_.session.recovery_backoff_secs};
  options.saver = saver_.get();
  options.monitor = &monitor_;
  options.on_recovery = [this](const Error& error, std::int64_t count) {
    world_.log.warning("", "recovery " + std::to_string(count) + ": " + error.what());
    if (events_.writer() != nullptr)
      events_.writer()->add_scalar("recoveries", std::max<std::int64_t>(monitor_.step, 0), static_cast<double>(count));
  };
  return options;
}

TrainingResult TrainingRun::train(const std::function<void()>& on_step) {
  saver_use_ = saver_use(*plugins_->saver);
  services_.set_context(&saver_use_);
  if (directory_) {
    RunSaverOptions saving;
    saving.saver = saver_use_;
    saving.series.max_to_keep = manifest_.checkpoint.max_to_keep;
    saving.series.write.refuse_non_finite = manifest_.checkpoint.refuse_non_finite;
    saving.on_save_error = manifest_.checkpoint.on_save_error;
    saving.fingerprint = fingerprint_of(environment_, plugins_->registry);
    saving.events = events_.writer();
    saving.signal_grace_secs = manifest_.session.signal_grace_secs;
    saving.on_saved = [this](const std::string& path, std::int64_t step) { control_.note_saved(path, step); };
    saver_ = std::make_shared<RunSaver>(environment_, directory_->directory(), saving);
    services_.set_context(saver_.get());
  }
  ScaffoldOptions pieces;
  pieces.saver = saver_;
  if (!plugins_->init_fns.empty())
    pieces.init_fn = [this](const Scaffold&, DirectSession& session) {
      for (PluginInstance* init_fn : plugins_->init_fns)
        init_fn->call("run", &belay_init_fn_api::run, to_handle(&graph_), to_handle(&session));
    };
  auto creator = std::make_shared<ChiefSessionCreator>(
      graph_, environment_,
      ChiefSessionCreator::Options{.scaffold = std::make_shared<Scaffold>(std::move(pieces)),
                                   .checkpoint_dir = directory_ ? directory_->path() : ""});
  const std::string warning = spinning_warning(environment_.session.threads);
  if (!warning.empty()) world_.log.warning("", warning);
  TrainingResult result;
  const std::int64_t start = world_.clock.monotonic_ns();
  MonitoredSession session(creator, environment_, hooks_, session_options());
  if (events_.writer() != nullptr) events_.writer()->add_graph(serialized_graph_def(graph_));
  try {
    session.scope([&] {
      // Not before: a recovery trains in another store, and the old one's memory is wanted then.
      const struct Keep {
        MonitoredSession& session;
        std::shared_ptr<VariableStore>& store;
        ~Keep() {
          if (const std::shared_ptr<DirectSession> raw = session.raw_session()) store = raw->shared_store();
        }
      } keep{session, trained_};
      run_loop(session, on_step, result);
    });
  } catch (...) {
    finish(session, result);
    throw;
  }
  result.seconds = static_cast<double>(world_.clock.monotonic_ns() - start) * 1e-9;
  finish(session, result);
  if (directory_) directory_->directory().check_lock();
  return result;
}

void TrainingRun::run_loop(MonitoredSession& session, const std::function<void()>& on_step, TrainingResult& result) {
  FetchSet train_op(std::vector<FetchRef>{model_.train_op});
  RunCall call;
  call.fetches = &train_op;
  const std::int64_t first = session.raw_session()->global_step();
  result.global_step = first;
  control_.note_step(first);
  // A job that is at its last step already does not train one more (TensorFlow does; docs/differences.md).
  if (manifest_.run.max_steps && first >= *manifest_.run.max_steps) {
    session.request_stop("step " + std::to_string(first) +
                         " is already at max_steps = " + std::to_string(*manifest_.run.max_steps));
    return;
  }
  const RunControl::Interruptible interruptible(control_, session);
  while (!session.should_stop()) {
    if (control_.stopping()) {
      session.request_stop(control_.stop_reason());
      break;
    }
    if (saver_ != nullptr && control_.take_save_request()) saver_->request();
    try {
      session.run(call);
    } catch (const Error& e) {
      // An interrupt ends a wait for input; nothing of that step has happened.
      if (e.code() != Code::kCancelled || !control_.stopping()) throw;
      session.request_stop(control_.stop_reason());
      break;
    }
    ++result.steps;
    result.global_step = session.raw_session()->global_step();
    world_.log.set_step(result.global_step);
    control_.note_step(result.global_step);
    on_step();
  }
}

void TrainingRun::finish(MonitoredSession& session, TrainingResult& result) {
  result.reason = session.end_reason();
  result.recoveries = session.recoveries();
  if (session.global_step() >= 0) result.global_step = session.global_step();  // also after a recovery that went back
  if (saver_ != nullptr) {
    result.checkpoint = saver_->saved_path();
    result.save_error = saver_->save_error();
    look_for_checkpoint(result);
  }
  if (events_.writer() != nullptr) {
    events_.writer()->add_session_log(EventWriter::kStop, result.global_step);
    events_.writer()->flush();
  }
}

// Somebody may have moved or removed the run directory meanwhile; what was written goes where it is now.
void TrainingRun::look_for_checkpoint(TrainingResult& result) {
  if (result.checkpoint.empty()) return;
  try {
    const std::string name = checkpoint_name(saver_->saved_step());
    if (!directory_->directory().exists(name)) {
      result.removed = std::exchange(result.checkpoint, "");
    } else {
      result.moved = !files_->exists(result.checkpoint) ||
                     files_->status(result.checkpoint).inode != directory_->directory().status(name).inode;
    }
  } catch (const Error& e) {
    result.save_error = e.what();
  }
}

void TrainingRun::trace_steps(int warm, int traced, const StepTraces& then) {
  HookSet no_hooks;
  SingularMonitoredSession session(graph_, environment_, no_hooks);
  FetchSet train_op(std::vector<FetchRef>{model_.train_op});
  std::vector<RunMetadata> traces;
  session.scope([&] {
    const std::shared_ptr<DirectSession> raw = session.raw_session();
    try {
      for (int i = 0; i < warm + traced; ++i) {
        RunMetadata metadata;
        RunRequest request;
        request.fetches = &train_op;
        request.full_team = true;
        request.trace_level = i < warm ? 0 : 1;
        request.metadata = &metadata;
        raw->run(request);
        if (i >= warm) traces.push_back(std::move(metadata));
      }
    } catch (const Error& e) {
      if (!is_end_of_input(e.code()) || traces.empty()) throw;
    }
    then(*raw->plan_of(train_op), raw->plan_stats(&train_op), traces);
  });
}

std::optional<EvalResult> TrainingRun::evaluate(const std::function<void()>& on_batch) {
  if (eval_input_ == nullptr || trained_ == nullptr) return std::nullopt;
  eval_input_->prime();
  EvalResult result = runtime::evaluate(*ops_, environment_, *plugins_->model, eval_input_, *trained_, [&] {
    on_batch();
    return !control_.stopping();
  });
  if (directory_) {
    // Its own run for TensorBoard: a late evaluation must not erase points of the training.
    const std::unique_ptr<OpenDirectory> place = files_->make_directories(directory_->path() + "/" + kEvalDirectory);
    RunEvents events(*place, world_.clock, world_.log);
    for (const auto& [name, value] : result.metrics) events.writer()->add_scalar(name, result.global_step, value);
  }
  return result;
}

std::string TrainingRun::activity() const {
  const std::string library = plugins_->loader.loading();
  if (!library.empty()) return "plugin '" + escaped(library) + "', which is being loaded";
  std::string text;
  for (const CallMonitor* m : monitors()) {
    const PluginInstance* instance = m->instance.load();
    const char* callback = m->callback.load();
    if (instance == nullptr || callback == nullptr) continue;
    const std::int64_t step = m->step.load();
    text += (text.empty() ? "" : "; ") + instance->label() + " in " + callback +
            (step < 0 ? "" : " at step " + std::to_string(step));
  }
  return text;
}

std::string TrainingRun::plan_text() const {
  std::string text;
  for (const auto& [name, input] : plugins_->resolved.inputs) {
    text += "input." + name + "  " + input.info.name;
    const std::shared_ptr<InputFeed>& feed = name == "eval" ? eval_input_ : train_input_;
    if (feed != nullptr && (name == "eval" || name == "train")) {
      if (feed->size() >= 0) text += ", " + std::to_string(feed->size()) + " examples";
      for (const InputComponent& c : feed->components())
        text += std::string(c.label ? ", label " : ", feature ") + c.name + " " + dtype_name(c.dtype) + " " +
                dims_text(c.dims);
    }
    text += "\n";
  }
  text += "model  " + plugins_->resolved.model->info.name + "\n";
  std::int64_t parameters = 0;
  for (const Port& p : graph_.collection(collections::kTrainableVariables)) {
    const auto& [dtype, shape] = graph_.spec(p);
    parameters += shape.elements();
    text += "  " + graph_.node(p.node).name + "  " + dtype_name(dtype) + " " + shape.text() + "\n";
  }
  text += "  " + std::to_string(parameters) + " trainable parameters\n";
  text += "optimizer  " + manifest_.optimizer.name + "\n";
  text += "saver  " + plugins_->resolved.saver->info.name + "\n";
  for (const ResolvedPlugin& p : plugins_->resolved.init_fns) text += "init_fn  " + p.instance_name + "\n";
  for (const ResolvedPlugin& p : plugins_->resolved.hooks) text += "hook  " + p.instance_name + "\n";
  for (const RegisteredPlugin& p : plugins_->registry.plugins())
    if (p.info.kind == PluginKind::kOp) text += "op  " + operation_name(p.info.name) + "\n";
  text +=
      "run directory  " + (manifest_.run.dir.empty() ? std::string("none: nothing is kept") : manifest_.run.dir) + "\n";
  return text;
}

}  // namespace belay::runtime
