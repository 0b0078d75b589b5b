// A training step of a real model on the digits: through the raw session alone, and through the monitored session with
// the six hooks that a run has without being told. Both take turns in one process, on one graph, so that what else the
// machine does meets both; the counters say what the median of each took.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
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

std::string manifest(const std::string& model) {
  return "[run]\nmax_steps = 1000000000\n[input.train]\nplugin = \"digits\"\nsplit = \"train\"\nexamples = 2560\n"
         "batch_size = 128\nprefetch = 8\n[model]\n" +
         model + "[optimizer]\nname = \"adam\"\n";
}

template <class F>
double microseconds(F&& f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
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
    std::vector<double> bare, hooked;
    for (int i = 0; i < 50; ++i) raw->run(request), session.run(run.train_call());
    for (auto _ : state) {
      bare.push_back(microseconds([&] { raw->run(request); }));
      hooked.push_back(microseconds([&] { session.run(run.train_call()); }));
    }
    state.counters["bare_us"] = median(bare);
    state.counters["hooked_us"] = median(hooked);
  });
}
BENCHMARK_CAPTURE(step, mlp, "plugin = \"mlp\"\nhidden = [256]\n")->Iterations(1500);
BENCHMARK_CAPTURE(step, linear, "plugin = \"linear\"\n")->Iterations(3000);

}  // namespace
}  // namespace belay::runtime

BENCHMARK_MAIN();
