// SPDX-License-Identifier: Apache-2.0
// Measures the cost of the plugin boundary: before_run and after_run of a hook that does nothing, in a library file.
// The calls go through the host's copy of its C table and the SDK's thunks. `allocations` counts those of the whole
// benchmark, on both sides.
#include <benchmark/benchmark.h>

#include <memory>
#include <string_view>

#include "belay/testing/allocations.h"
#include "runtime/loader/instance/instance.h"
#include "runtime/session/run_context.h"
#include "runtime/session/session_service.h"

BELAY_COUNT_ALLOCATIONS

namespace belay::runtime {
namespace {

std::unique_ptr<Logger> silent_logger() {
  LogOutput nowhere;
  nowhere.write = [](std::string_view) { return true; };
  return make_logger(nowhere, LogFormat::kText, LogLevel::kInfo, system_clock());
}

// The library's only plugin, loaded as a run loads it.
class LoadedHook {
 public:
  LoadedHook() {
    services_.add("session", session_service());
    registry_.add_loaded(loader_.load(BELAY_IDLE_HOOK));
    const RegisteredPlugin& plugin = registry_.plugins().front();
    ResolvedPlugin use;
    use.info = plugin.info;
    use.file = plugin.file;
    use.instance_name = plugin.info.name;
    instance_ = &instances_.create(plugin, use, services_, monitor_);
  }
  PluginInstance& instance() { return *instance_; }

 private:
  std::unique_ptr<Logger> log_ = silent_logger();
  HostServices services_{*log_, system_clock(), "", 42};
  FilePolicy policy_;
  CpuFeatures cpu_;
  Loader loader_{policy_, cpu_, ""};
  Registry registry_;
  CallMonitor monitor_;
  PluginInstances instances_;
  PluginInstance* instance_ = nullptr;
};

// Calls the two callbacks as the loop does, with nothing around them.
template <class Call>
void measure_pair(benchmark::State& state, Call&& call) {
  RunContextState context;
  auto args = detail::sized<belay_run_args>();
  const auto values = detail::sized<belay_run_values>();
  const std::uint64_t before = testing::allocations();
  for (auto _ : state) {
    call("before_run", &belay_hook_api::before_run, to_handle(&context), &args);
    benchmark::DoNotOptimize(args);
    call("after_run", &belay_hook_api::after_run, to_handle(&context), &values);
  }
  state.counters["allocations"] = static_cast<double>(testing::allocations() - before);
}

void table(benchmark::State& state) {
  const std::uint64_t before = testing::allocations();
  LoadedHook hook;
  if (testing::allocations() == before) state.SkipWithError("allocations are not counted");
  const belay_hook_api& api = hook.instance().table<belay_hook_api>();
  void* const self = hook.instance().self();
  measure_pair(state, [&](Callback, auto slot, auto... arguments) {
    detail::Status status;
    if ((api.*slot)(self, arguments..., status) != BELAY_OK) state.SkipWithError("the hook failed");
  });
}
BENCHMARK(table);

// Does the same through the guard around every call of the host, as in a step with many hooks. The guard notes the call
// for the watchdog and for error messages, and keeps the thread's mode.
void guarded(benchmark::State& state) {
  LoadedHook hook;
  ThreadOfCalls thread;
  measure_pair(state, [&](Callback callback, auto slot, auto... arguments) {
    hook.instance().call_in_step(
        thread, callback, slot, [] {}, arguments...);
  });
}
BENCHMARK(guarded);

}  // namespace
}  // namespace belay::runtime

BENCHMARK_MAIN();
