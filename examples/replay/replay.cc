// SPDX-License-Identifier: Apache-2.0
// Looks at steps of a run that has ended or still runs. A hook of the program, which the run did not have, prints the
// loss of each step. The gradients' norms and the batches go into a separate directory. It reports whether the steps
// are the run's.
#include <belay/plugin.h>
#include <belay/runtime/replay.h>
#include <belay/runtime/spinning.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <vector>

namespace {

volatile std::sig_atomic_t interrupted = 0;

// Keeps the losses of the steps that call it. The replay destroys it; the list is the caller's.
class Losses final : public belay::Hook {
 public:
  explicit Losses(std::vector<float>& losses) : losses_(losses) {}
  void begin(belay::Graph& graph) override { loss_ = graph.fetch<float>("loss"); }
  belay::RunArgs before_run(belay::RunContext&) override { return {loss_}; }
  void after_run(belay::RunContext&, const belay::RunValues& values) override { losses_.push_back(values[loss_]); }

 private:
  std::vector<float>& losses_;
  belay::Fetch<float> loss_;
};

int replay(const std::string& run, long long first, long long last, const std::string& out) {
  std::vector<float> losses;
  belay::ReplayOptions options{.step = first, .to = last, .batch = true, .out = out, .plugin_path = {PLUGINS}};
  options.hooks.push_back(belay::plugin_hook("gradient_norms"));
  options.hooks.push_back(belay::own_hook("losses", std::make_unique<Losses>(losses)));
  options.on_step = [](std::int64_t) { return interrupted == 0; };

  const belay::ReplayReport report = belay::replay(run, options);
  if (!report.error.empty()) std::fprintf(stderr, "%s\n", report.error.c_str());
  for (std::size_t i = 0; i < losses.size(); ++i)
    std::printf("loss of step %lld: %.6f\n", first + static_cast<long long>(i), static_cast<double>(losses[i]));
  for (const std::string& archive : report.archives) std::printf("batch in %s\n", archive.c_str());
  std::fputs(report.text.c_str(), stdout);
  return static_cast<int>(report.status);
}

}  // namespace

int main(int argc, char** argv) {
  belay::bound_spinning(argv);  // before anything else: it executes the program once more
  if (argc != 5) {
    std::fprintf(stderr, "usage: replay RUN FIRST_STEP LAST_STEP OUT\n");
    return 2;
  }
  std::signal(SIGINT, [](int) { interrupted = 1; });
  try {
    return replay(argv[1], std::atoll(argv[2]), std::atoll(argv[3]), argv[4]);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "replay: %s\n", e.what());
    return 1;
  }
}
