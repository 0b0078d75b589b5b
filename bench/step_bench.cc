// SPDX-License-Identifier: Apache-2.0
// A training step of a real model on the digits: through the raw session alone, and through the monitored session with
// the hooks of a usual run. Blocks of both take turns in one process, on one graph, so that other programs disturb
// both. A block is as long as the hooks' periods, so each hooked one writes summaries and the rate, and logs, once.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <ctime>
#include <string>
#include <vector>

#include "plugins/default_plugins.h"
#include "tests/session/linked_run.h"

extern "C" {
extern const belay_module belay_module_digits;
extern const belay_module belay_module_linear;
extern const belay_module belay_module_mlp;
}

namespace belay::runtime {
namespace {

constexpr int kBlock = 100;  // steps: the default period of step_counter and summary_saver

// The default hooks are stop_at_step, step_counter, summary_saver, checkpoint_saver, nan_tensor, json_lines and
// progress.
std::string manifest(const std::string& model) {
  return "[run]\nmax_steps = 1000000000\nthreads = 1\n"
         "[input.train]\nplugin = \"digits\"\nsplit = \"train\"\nexamples = 2560\nbatch_size = 128\nprefetch = 8\n"
         "[model]\n" +
         model +
         "[optimizer]\nname = \"adam\"\n"
         "[[hooks]]\nplugin = \"logging_tensor\"\ntensors = [\"loss\", \"accuracy\"]\nevery_n_iter = 100\n";
}

double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Microseconds per step of a block.
struct Cost {
  double elapsed, cpu;
};

double microseconds(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) * 1e-3;
}

template <class F>
Cost block(F&& step) {
  const double elapsed = microseconds(CLOCK_MONOTONIC), cpu = microseconds(CLOCK_PROCESS_CPUTIME_ID);
  for (int i = 0; i < kBlock; ++i) step();
  return {(microseconds(CLOCK_MONOTONIC) - elapsed) / kBlock, (microseconds(CLOCK_PROCESS_CPUTIME_ID) - cpu) / kBlock};
}

void step(benchmark::State& state, const std::string& model) {
  std::vector<const belay_module*> modules = default_plugins();
  modules.insert(modules.end(), {&belay_module_digits, &belay_module_linear, &belay_module_mlp});
  testing::LinkedRun run(manifest(model), modules);
  run.add_hooks_of_manifest();
  MonitoredSession& session = run.start();
  session.scope([&] {
    const std::shared_ptr<DirectSession> raw = session.raw_session();
    FetchSet train_op(std::vector<FetchRef>{run.model().train_op});
    RunRequest request;
    request.fetches = &train_op;
    request.full_team = true;
    const auto bare_block = [&] { return block([&] { raw->run(request); }); };
    const auto hooked_block = [&] { return block([&] { session.run(run.train_call()); }); };
    bare_block(), hooked_block();  // warm-up
    std::vector<double> bare_cpu, elapsed_ratio, cpu_ratio;
    bool bare_first = true;
    for (auto _ : state) {
      Cost bare{};
      if (bare_first) bare = bare_block();
      const Cost hooked = hooked_block();
      if (!bare_first) bare = bare_block();
      bare_first = !bare_first;
      bare_cpu.push_back(bare.cpu);
      elapsed_ratio.push_back(hooked.elapsed / bare.elapsed), cpu_ratio.push_back(hooked.cpu / bare.cpu);
    }
    state.counters["bare_cpu_us"] = median(bare_cpu);
    state.counters["ratio"] = median(elapsed_ratio);
    state.counters["cpu_ratio"] = median(cpu_ratio);
  });
}
// Pairs of blocks.
BENCHMARK_CAPTURE(step, mlp, "plugin = \"mlp\"\nhidden = [256]\n")->Iterations(50);
BENCHMARK_CAPTURE(step, linear, "plugin = \"linear\"\n")->Iterations(100);

}  // namespace
}  // namespace belay::runtime

BENCHMARK_MAIN();
