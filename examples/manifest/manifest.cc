// SPDX-License-Identifier: Apache-2.0
// Runs a manifest from a program, with settings in place of the manifest's, and prints the result: any mode, such as
// run.mode=evaluate. Ctrl-C stops a training at the next step, with a checkpoint; the next start continues there.
#include <belay/runtime/run.h>
#include <belay/runtime/spinning.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

namespace {

volatile std::sig_atomic_t interrupted = 0;

int run(const std::string& manifest, const std::vector<std::string>& sets) {
  belay::ManifestRunOptions options{.sets = sets, .plugin_path = {PLUGINS}};
  options.on_progress = [](belay::ManifestRun& training) {
    if (interrupted != 0) training.request_stop("interrupted");
  };
  belay::ManifestRun training(manifest, options);
  if (!training.ok()) {
    std::fputs(training.problems_text().c_str(), stderr);
    return static_cast<int>(belay::RunStatus::kUsage);
  }

  const belay::RunReport report = training.run();
  if (!report.error.empty()) std::fprintf(stderr, "%s\n", report.error.c_str());
  std::printf("status %d at step %lld: %s\n", static_cast<int>(report.status),
              static_cast<long long>(report.global_step), report.reason.text.c_str());
  for (const belay::EvaluationReport& evaluation : report.evaluations)
    for (const auto& [metric, value] : evaluation.metrics)
      std::printf("%s: %s = %.4f\n", evaluation.input.c_str(), metric.c_str(), value);
  for (const std::string& path : report.exports) std::printf("exported %s\n", path.c_str());
  return static_cast<int>(report.status);
}

}  // namespace

int main(int argc, char** argv) {
  belay::bound_spinning(argv);  // before anything else: it executes the program once more
  if (argc < 2) {
    std::fprintf(stderr, "usage: manifest MANIFEST [KEY=VALUE]...\n");
    return 2;
  }
  std::signal(SIGINT, [](int) { interrupted = 1; });
  try {
    return run(argv[1], {argv + 2, argv + argc});
  } catch (const std::exception& e) {
    std::fprintf(stderr, "manifest: %s\n", e.what());
    return 1;
  }
}
