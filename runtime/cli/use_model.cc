// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/use_model.h"

#include <iostream>

#include "runtime/api/log.h"
#include "runtime/api/run_status.h"
#include "runtime/cli/exit_status.h"
#include "runtime/cli/prepare_run.h"
#include "runtime/platform/fixed_text.h"
#include "runtime/platform/text.h"

namespace belay::runtime {
namespace {

void predict(ManifestRun& run, Watchdog& watchdog, Logger& log) {
  const std::unique_ptr<PredictionWriter> writer = prediction_writer_of(run.manifest().predict, run.host().files());
  const std::int64_t begin = run.host().clock().monotonic_ns();
  const Predicted predicted = run.predict(*writer, [&] { watchdog.progress(); });
  if (predicted.totals.reader_gone) return;
  const double seconds = static_cast<double>(run.host().clock().monotonic_ns() - begin) * 1e-9;
  const std::string remark = remark_of(predicted.totals);
  log.info("", "predicted " + std::to_string(predicted.totals.examples) + " examples with " +
                   escaped(predicted.checkpoint.path) + " in " + fixed_text(seconds, 2) + " s" +
                   (remark.empty() ? "" : "; " + remark));
}

void sample(ManifestRun& run, Watchdog& watchdog) {
  const std::unique_ptr<SampledTextWriter> writer = sampled_text_writer_of(run.manifest().predict, run.host().files());
  run.sample([&](std::string_view character) {
    watchdog.progress();
    if (run.host().control().stopping()) fail(Code::kCancelled, "the sampling was interrupted");
    return writer->write(character);
  });
  writer->finish();
}

// A line for each export on stdout: where it is.
void write_exports(ManifestRun& run, Logger& log) {
  const ManifestRun::ExportedCheckpoint done = run.export_checkpoint();
  log.info("", "exported " + escaped(done.checkpoint.path));
  log.flush();
  for (const WrittenExport& e : done.exports) std::cout << escaped(e.path) << std::endl;
}

const char* what_failed(RunMode mode) {
  return mode == RunMode::kEvaluate ? "the evaluation failed: "
         : mode == RunMode::kExport ? "the export failed: "
                                    : "the prediction failed: ";
}

}  // namespace

void print_result(Logger& log, const EvaluatedInput& result) {
  log.status_line("");
  log.flush();
  std::cout << result.input << " at step " << result.result.global_step << " on " << result.result.examples
            << " examples: " << metrics_text(result.result) << "\n";
  for (const std::string& line : matrix_lines(result.result)) std::cout << "  " << escaped(line) << "\n";
  std::cout.flush();
}

int use_model(ManifestRun& run, Watchdog& watchdog, Logger& log, const Signals& signals,
              const ManifestArguments& arguments) {
  const RunMode mode = run.manifest().run.mode;
  const auto progress = [&] { watchdog.progress(); };
  const auto print = [&](const CheckpointResult& found) {
    log.info("", "evaluated " + escaped(found.checkpoint.path));
    for (const EvaluatedInput& result : found.inputs) print_result(log, result);
  };
  try {
    if (mode == RunMode::kEvaluate) {
      print(run.evaluate_checkpoint(progress));
    } else if (mode == RunMode::kContinuousEval) {
      run.evaluate_repeatedly(progress, print);
    } else if (mode == RunMode::kExport) {
      write_exports(run, log);
    } else if (run.manifest().predict.prompt.empty()) {
      predict(run, watchdog, log);
    } else {
      sample(run, watchdog);
    }
  } catch (const Error& e) {
    log.status_line("");
    if (signals.stop_signal() != 0) {
      log.info("", std::string("ended by ") + signal_name(signals.stop_signal()));
      log.flush();
      Signals::die_of(signals.stop_signal());
    }
    report_error(log, what_failed(run.manifest().run.mode), e, run, arguments);
    return static_cast<int>(status_of(RunPart::kMode, e));
  }
  log.flush();
  return kExitDone;
}

}  // namespace belay::runtime
