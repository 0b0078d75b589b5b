// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/run/prepared_run.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "belay/runtime/run.h"
#include "runtime/api/log.h"
#include "runtime/api/run_driver.h"
#include "runtime/manifest/parse.h"
#include "runtime/manifest/show.h"
#include "runtime/platform/files/file_system.h"
#include "runtime/platform/threads/clock.h"

namespace belay {
namespace {

std::optional<runtime::LaunchedPlace> launched(const std::optional<ProcessPlace>& place) {
  if (!place) return std::nullopt;
  return runtime::LaunchedPlace{place->rank, place->size, place->local_rank, "the program"};
}

// If an error ends check(), it is one more problem.
class CheckObserver final : public runtime::RunObserver {
 public:
  void refused(const runtime::Diagnostics& /*problems*/) override {}
  void failed(runtime::RunPart /*part*/, const Error& e, runtime::Diagnostics& problems) override {
    const std::string message = e.what(), separator = "\n  help: ";
    const std::size_t help = std::min(message.find(separator), message.size());
    problems.add({}, message.substr(0, help), help == message.size() ? "" : message.substr(help + separator.size()));
  }
};

}  // namespace

struct ManifestRun::Insides final : runtime::RunObserver {
  Insides(ManifestRun& run_of_program, const std::string& file, ManifestRunOptions given);

  std::unique_ptr<runtime::PreparedRun> make(runtime::RunControl& of) const {
    return std::make_unique<runtime::PreparedRun>(
        *manifest,
        runtime::PreparedRunOptions{.from_scratch = options.from_scratch,
                                    .resume = {options.accept_changes, options.must_resume, options.exact},
                                    .place = launched(options.place)},
        runtime::Platform{runtime::system_clock(), *log, runtime::posix_file_system()}, runtime::process_environment(),
        of);
  }
  RunReport run_once();

  void refused(const runtime::Diagnostics& found) override { report.error = found.text(); }
  void failed(runtime::RunPart part, const Error& e, runtime::Diagnostics& found) override;
  std::string refusal() const override { return report.error; }
  void progress() override {
    if (options.on_progress) options.on_progress(self);
  }
  void trained(const runtime::TrainingResult& result, const std::string& untrained) override;
  void evaluated_at_end(const runtime::EvaluatedInput& e) override {
    report.evaluations.push_back({e.input, e.result.global_step, e.result.examples, e.result.metrics});
  }
  void exported_at_end(const std::vector<runtime::WrittenExport>& written) override {
    for (const runtime::WrittenExport& e : written) report.exports.push_back(e.path);
  }
  void used(const runtime::UsedCheckpoint& checkpoint) override {
    report.checkpoint = checkpoint.path;
    report.global_step = checkpoint.global_step;
  }
  void evaluated(const runtime::CheckpointResult& result) override {
    report.evaluations.clear();
    for (const runtime::EvaluatedInput& e : result.inputs) evaluated_at_end(e);
  }
  void predicted(const runtime::Predicted& result, double /*seconds*/) override {
    report.predicted_examples = result.totals.examples;
  }
  void sampled(std::string_view text) override { report.sampled += text; }
  void exported(const runtime::ExportedCheckpoint& result) override { exported_at_end(result.exports); }

  ManifestRun& self;
  const ManifestRunOptions options;
  const std::unique_ptr<runtime::Logger> log;
  runtime::RunControl control;
  runtime::Diagnostics problems;
  std::optional<runtime::Manifest> manifest;
  RunStatus names = RunStatus::kUsage;  // kDone: the plugins' files have everything in the manifest
  bool begun = false;
  bool done_as_asked = false;  // CANCELLED ended the run, as was requested
  RunReport report;
  std::unique_ptr<runtime::PreparedRun> run;
};

ManifestRun::Insides::Insides(ManifestRun& run_of_program, const std::string& file, ManifestRunOptions given)
    : self(run_of_program), options(std::move(given)), log(runtime::make_log(options.log)) {
  manifest = runtime::parse_manifest(file, options.sets, runtime::process_environment(), problems);
  if (!manifest) return;
  for (const std::string& folder : options.plugin_path)
    manifest->plugins.path.push_back(std::filesystem::absolute(folder).lexically_normal().string());
  if (const auto& place = options.place; place && (place->rank < 0 || place->rank >= place->size)) {
    problems.add({manifest->file, 0, 0},
                 fmt::format("[B5110] the program starts this process as rank {} of {}", place->rank, place->size),
                 "ranks are counted from 0");
    return;
  }
  run = make(control);
  names = runtime::RunDriver(*run, problems, *this).prepare(runtime::Preparation::kNames);
}

void ManifestRun::Insides::failed(runtime::RunPart part, const Error& e, runtime::Diagnostics& found) {
  if (part == runtime::RunPart::kTraining) report.disabled_hooks = run->training.hooks().disabled();
  // An error after a training does not change why that ended.
  const bool has_trained = part == runtime::RunPart::kEvaluation || part == runtime::RunPart::kExport;
  done_as_asked = e.code() == Code::kCancelled && control.stopping();
  if (done_as_asked) {
    if (!has_trained) report.reason = {EndReason::Kind::kStopRequested, control.stop_reason()};
    return;
  }
  report.error = found.text() + e.what();
  if (!has_trained) report.reason = {EndReason::Kind::kError, e.what()};
  runtime::log_error(*log, e.what());
}

void ManifestRun::Insides::trained(const runtime::TrainingResult& result, const std::string& untrained) {
  report.reason = result.reason;
  report.steps = result.steps;
  report.global_step = result.global_step;
  report.seconds = result.seconds;
  report.recoveries = result.recoveries;
  report.checkpoint = result.checkpoint;
  report.disabled_hooks = run->training.hooks().disabled();
  if (!result.save_error.empty())
    report.error = "the last checkpoint was not written: " + result.save_error;
  else if (!result.removed.empty())
    report.error = "the last checkpoint was removed after it was written: there is no '" + result.removed + "'";
  else if (runtime::is_untrained(result))
    report.error = untrained;
}

RunReport ManifestRun::Insides::run_once() {
  if (std::exchange(begun, true)) fail(Code::kFailedPrecondition, "[B5071] a ManifestRun runs once: make another one");
  if (!problems.empty()) {
    report.status = names == RunStatus::kDone ? RunStatus::kUsage : names;
    report.error = problems.text();
    return report;
  }
  report.status = runtime::RunDriver(*run, problems, *this).run();
  if (done_as_asked) report.status = RunStatus::kDone;
  run.reset();  // the directory is free again
  log->flush();
  return report;
}

// ---- the class

ManifestRun::ManifestRun(const std::string& file, ManifestRunOptions options)
    : insides_(std::make_unique<Insides>(*this, file, std::move(options))) {}

ManifestRun::~ManifestRun() = default;

bool ManifestRun::ok() const noexcept { return insides_->problems.empty(); }

std::vector<ManifestProblem> ManifestRun::problems() const {
  std::vector<ManifestProblem> all;
  for (const runtime::Diagnostic& d : insides_->problems.sorted())
    all.push_back({d.at.file, d.at.line, d.at.column, d.message, d.help, d.code});
  return all;
}

std::string ManifestRun::problems_text() const { return insides_->problems.text(); }

std::string ManifestRun::effective_manifest() const {
  if (!insides_->manifest) fail(Code::kFailedPrecondition, "the manifest could not be read:\n" + problems_text());
  return runtime::effective_manifest(*insides_->manifest);
}

bool ManifestRun::check() {
  if (!ok()) return false;
  runtime::RunControl control;
  CheckObserver observer;
  const std::unique_ptr<runtime::PreparedRun> run = insides_->make(control);
  runtime::RunDriver(*run, insides_->problems, observer).prepare(runtime::Preparation::kGraph);
  return ok();
}

RunReport ManifestRun::run() { return insides_->run_once(); }

void ManifestRun::request_stop(const std::string& reason) { insides_->control.stop(reason); }

void ManifestRun::stop_now(const std::string& reason) {
  insides_->control.stop(reason);
  insides_->control.wake(Error(Code::kCancelled, reason));
}

void ManifestRun::request_save() { insides_->control.save(); }

}  // namespace belay
