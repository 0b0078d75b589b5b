// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/manifest_run.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "belay/runtime/run.h"
#include "runtime/api/log.h"
#include "runtime/api/prepare.h"
#include "runtime/api/run_report.h"
#include "runtime/estimator/training_end.h"
#include "runtime/manifest/parse.h"
#include "runtime/manifest/show.h"
#include "runtime/platform/clock.h"
#include "runtime/platform/file_system.h"

namespace belay {
namespace {

void note_exports(const std::vector<runtime::WrittenExport>& written, RunReport& report) {
  for (const runtime::WrittenExport& e : written) report.exports.push_back(e.path);
}

std::optional<runtime::LaunchedPlace> launched(const std::optional<ProcessPlace>& place) {
  if (!place) return std::nullopt;
  return runtime::LaunchedPlace{place->rank, place->size, place->local_rank, "the program"};
}

}  // namespace

struct ManifestRun::Insides {
  Insides(ManifestRun& run_of_program, const std::string& file, ManifestRunOptions given);

  std::unique_ptr<runtime::ManifestRun> make(runtime::RunControl& of) const {
    return std::make_unique<runtime::ManifestRun>(
        *manifest,
        runtime::ManifestRunOptions{.from_scratch = options.from_scratch,
                                    .resume = {options.accept_changes, options.must_resume, options.exact},
                                    .place = launched(options.place)},
        runtime::Platform{runtime::system_clock(), *log, runtime::posix_file_system()}, runtime::process_environment(),
        of);
  }
  bool trains() const { return runtime::trains(manifest->run.mode); }
  void progress() const {
    if (options.on_progress) options.on_progress(self);
  }
  bool failed(const std::optional<runtime::RunFailure>& failure, RunReport& report);
  bool prepared(RunReport& report);
  void train(RunReport& report);
  void export_checkpoint(RunReport& report) const;
  void use_model(RunReport& report);
  RunReport run_once();

  ManifestRun& self;
  const ManifestRunOptions options;
  const std::unique_ptr<runtime::Logger> log;
  runtime::RunControl control;
  runtime::Diagnostics problems;
  std::optional<runtime::Manifest> manifest;
  bool plugins_usable = true;
  bool begun = false;
  std::unique_ptr<runtime::ManifestRun> run;
};

ManifestRun::Insides::Insides(ManifestRun& run_of_program, const std::string& file, ManifestRunOptions given)
    : self(run_of_program), options(std::move(given)), log(runtime::make_log(options.log)) {
  manifest = runtime::parse_manifest(file, options.sets, runtime::process_environment(), problems);
  if (!manifest) return;
  for (const std::string& folder : options.plugin_path)
    manifest->plugins.path.push_back(std::filesystem::absolute(folder).lexically_normal().string());
  if (const auto& place = options.place; place && (place->rank < 0 || place->rank >= place->size)) {
    problems.add({manifest->file, 0, 0},
                 "the program says that this process is rank " + std::to_string(place->rank) + " of " +
                     std::to_string(place->size),
                 "ranks are counted from 0");
    return;
  }
  run = make(control);
  plugins_usable = run->find_plugins(problems);
}

// True: the run ends here. One that somebody asked to end has done what was asked.
bool ManifestRun::Insides::failed(const std::optional<runtime::RunFailure>& failure, RunReport& report) {
  if (!failure) return false;
  if (failure->code == Code::kCancelled && control.stopping()) {
    report.reason = {EndReason::Kind::kStopRequested, control.stop_reason()};
    return true;
  }
  report.status = failure->status;
  report.error = failure->message;
  report.reason = {EndReason::Kind::kError, report.error};
  runtime::log_error(*log, report.error);
  return true;
}

bool ManifestRun::Insides::prepared(RunReport& report) {
  if (trains()) {
    run->check_launch(problems);
    if (problems.empty() &&
        failed(runtime::failure_of(runtime::RunPart::kDirectory, [&] { run->take_directory(); }), report))
      return false;
  }
  run->compare_with_earlier(problems);
  const bool ended = problems.empty() && failed(runtime::prepare(*run, problems), report);
  if (!problems.empty()) {
    report.status = RunStatus::kUsage;
    report.error = problems.text() + report.error;
  }
  if (ended || !problems.empty()) return false;
  return !trains() ||
         !failed(runtime::failure_of(runtime::RunPart::kDirectory, [&] { run->open_directory(); }), report);
}

void ManifestRun::Insides::train(RunReport& report) {
  const auto train_and_report = [&] {
    const runtime::TrainingResult result = run->train([&] { progress(); });
    runtime::report_training(result, report);
    const std::string untrained = runtime::untrained_text(*run, result);
    if (!untrained.empty()) log->warning("", untrained);
    if (report.status != RunStatus::kDone || !runtime::is_untrained(result)) return;
    report.status = RunStatus::kUsage;
    report.error = untrained;
  };
  std::optional<runtime::RunFailure> failure = runtime::failure_of(runtime::RunPart::kTraining, train_and_report);
  if (failure && run->host().lock_lost()) failure->status = RunStatus::kInUse;
  const bool ended = failed(failure, report);
  report.disabled_hooks = run->disabled_hooks();
  if (ended || report.status != RunStatus::kDone || control.stopping()) return;
  const auto evaluate = [&] {
    for (const runtime::EvaluatedInput& e : run->evaluate_at_end())
      report.evaluations.push_back(runtime::evaluation_report(e));
  };
  const auto write = [&] { note_exports(run->export_at_end(), report); };
  const EndReason reason = report.reason;
  if (failed(runtime::failure_of(runtime::RunPart::kEvaluation, evaluate), report) ||
      (!control.stopping() && failed(runtime::failure_of(runtime::RunPart::kExport, write), report)))
    report.reason = reason;
}

void ManifestRun::Insides::export_checkpoint(RunReport& report) const {
  const runtime::ManifestRun::ExportedCheckpoint done = run->export_checkpoint();
  report.checkpoint = done.checkpoint.path;
  report.global_step = done.checkpoint.global_step;
  note_exports(done.exports, report);
}

void ManifestRun::Insides::use_model(RunReport& report) {
  const auto use = [&](const runtime::UsedCheckpoint& checkpoint) {
    report.checkpoint = checkpoint.path;
    report.global_step = checkpoint.global_step;
  };
  const runtime::RunMode mode = run->manifest().run.mode;
  const auto evaluate = [&] {
    const auto on_progress = [&] { progress(); };
    const runtime::CheckpointResult result = mode == runtime::RunMode::kEvaluate
                                                 ? run->evaluate_checkpoint(on_progress)
                                                 : run->evaluate_repeatedly(on_progress, [](const auto&) {});
    use(result.checkpoint);
    for (const runtime::EvaluatedInput& e : result.inputs) report.evaluations.push_back(runtime::evaluation_report(e));
  };
  const auto predict = [&] {
    const auto writer = runtime::prediction_writer_of(run->manifest().predict, run->host().files());
    const runtime::Predicted predicted = run->predict(*writer, [&] { progress(); });
    use(predicted.checkpoint);
    report.predicted_examples = predicted.totals.examples;
  };
  const auto sample = [&] {
    const runtime::PredictSettings& settings = run->manifest().predict;
    std::unique_ptr<runtime::SampledTextWriter> file;
    if (!settings.output.empty()) file = runtime::sampled_text_writer_of(settings, run->host().files());
    report.sampled = settings.prompt;
    use(run->sample([&](std::string_view character) {
      progress();
      if (control.stopping()) fail(Code::kCancelled, control.stop_reason());
      report.sampled += character;
      return file == nullptr || file->write(character);
    }));
    if (file != nullptr) file->finish();
  };
  const auto work = [&] {
    if (mode == runtime::RunMode::kEvaluate || mode == runtime::RunMode::kContinuousEval) {
      evaluate();
    } else if (mode == runtime::RunMode::kExport) {
      export_checkpoint(report);
    } else if (run->manifest().predict.prompt.empty()) {
      predict();
    } else {
      sample();
    }
  };
  failed(runtime::failure_of(runtime::RunPart::kMode, work), report);
}

RunReport ManifestRun::Insides::run_once() {
  if (std::exchange(begun, true)) fail(Code::kFailedPrecondition, "a ManifestRun runs once: make another one");
  RunReport report;
  if (!problems.empty()) {
    report.status = plugins_usable ? RunStatus::kUsage : RunStatus::kPlugin;
    report.error = problems.text();
    return report;
  }
  if (prepared(report)) {
    if (trains()) {
      train(report);
    } else {
      use_model(report);
    }
  } else if (report.status != RunStatus::kInUse) {
    run->refuse_ranks(report.error);
  }
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
    all.push_back({d.at.file, d.at.line, d.at.column, d.message, d.help});
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
  const std::unique_ptr<runtime::ManifestRun> run = insides_->make(control);
  run->find_plugins(insides_->problems);
  if (const std::optional<runtime::RunFailure> failure = runtime::prepare(*run, insides_->problems)) {
    const std::string& message = failure->message;
    const std::string separator = "\n  help: ";
    const std::size_t help = std::min(message.find(separator), message.size());
    insides_->problems.add({}, message.substr(0, help),
                           help == message.size() ? "" : message.substr(help + separator.size()));
  }
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
