// SPDX-License-Identifier: Apache-2.0
#include "runtime/api/results.h"

#include <fmt/core.h>

#include <memory>
#include <string>
#include <utility>

#include "runtime/session/variable_store.h"

namespace belay::runtime {
namespace {

FetchedValues& from_handle(belay_result* result) { return *reinterpret_cast<FetchedValues*>(result); }

std::int32_t fetched_tensor(belay_result* result, std::uint64_t i, belay_tensor* tensor, belay_status* status) {
  return detail::guard(status, [&] {
    const FetchedValues& values = from_handle(result);
    if (i >= values.size())
      fail(Code::kInvalidArgument,
           fmt::format("[B5074] the run has {} results, there is no result {}", values.size(), i));
    *tensor = values[static_cast<std::size_t>(i)].raw();
  });
}

void release_fetched(belay_result* result) { delete &from_handle(result); }

// A RunResult asks for these functions and no others.
const belay_session_api& fetched_api() {
  static const belay_session_api api = [] {
    belay_session_api a{};
    a.struct_size = sizeof(a);
    a.result_tensor = fetched_tensor;
    a.result_release = release_fetched;
    return a;
  }();
  return api;
}

}  // namespace

RunResult run_result(FetchedValues values, const std::vector<FetchRef>& fetches) {
  std::vector<belay_output> outputs;
  for (const FetchRef& f : fetches) outputs.push_back(f.raw());
  auto kept = std::make_unique<FetchedValues>(std::move(values));
  return {&fetched_api(), reinterpret_cast<belay_result*>(kept.release()), std::move(outputs)};
}

RunResult run_in_step(StepFnContext& context, const std::vector<FetchRef>& fetches, const Feeds& feeds) {
  auto set = std::make_unique<FetchSet>(fetches);
  std::vector<belay_feed> raw;
  for (const auto& [output, value] : feeds) raw.push_back({output.raw(), value.view()});
  Run run = context.run_with_hooks({.fetches = set.get(), .feeds = raw});
  return run_result(FetchedValues(std::move(run), std::move(set)), fetches);
}

std::shared_ptr<StoreTargets> process_targets() {
  static const auto targets = std::make_shared<StoreTargets>();
  return targets;
}

}  // namespace belay::runtime
