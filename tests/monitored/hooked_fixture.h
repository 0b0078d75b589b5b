// SPDX-License-Identifier: Apache-2.0
// A hooked session round a raw one.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/monitored/layers/hooked_session.h"
#include "tests/monitored/monitored_fixture.h"

namespace belay::runtime::testing {

inline RunArgs feeding(const std::vector<std::pair<Output, float>>& feeds) {
  RunArgs args;
  for (const auto& [output, value] : feeds) args.feed(output, Tensor(value));
  return args;
}

// A raw session on  sum = a + b + c  of three placeholders, with the hooks that a test adds before it opens.
class HookedSessionTest : public MonitoredTest {
 protected:
  void open() {
    graph.finalize();
    raw_ = std::make_shared<DirectSession>(graph, std::make_shared<VariableStore>(), environment.session);
    std::vector<Port> inits = graph.collection("variable_init");
    if (!inits.empty()) raw_->run_once(inits);
    session_ = std::make_unique<HookedSession>(raw_, hooks, nullptr, &monitor);
  }
  HookedSession& session() { return *session_; }
  DirectSession& raw() { return *raw_; }
  // With all arguments of a caller.
  float run_with(const Output& fetch, const std::vector<std::pair<Output, Tensor>>& feeds, const CallerOptions* options,
                 RunMetadata* metadata) {
    FetchSet set({fetch});
    std::vector<belay_feed> fed;
    for (const auto& [output, tensor] : feeds) fed.push_back({output.raw(), tensor.view()});
    RunCall call;
    call.fetches = &set;
    call.feeds = fed;
    call.options = options;
    call.metadata = metadata;
    const auto result = session().run(call);
    return TensorView(result.result(set, 0)).scalar<float>();
  }
  // One float that the caller asks for.
  float run(const Output& fetch, const std::vector<std::pair<Output, Tensor>>& feeds = {}) {
    return run_with(fetch, feeds, nullptr, nullptr);
  }

  const Output a = ops::placeholder(g, DType::kFloat32, {}, "a");
  const Output b = ops::placeholder(g, DType::kFloat32, {}, "b");
  const Output c = ops::placeholder(g, DType::kFloat32, {}, "c");
  const Output sum = ops::add(ops::add(a, b), c, "sum");
  const Output one = ops::constant(g, Tensor(1.0f), "one");
  const Output two = ops::constant(g, Tensor(2.0f), "two");

 private:
  std::shared_ptr<DirectSession> raw_;
  std::unique_ptr<HookedSession> session_;
};

}  // namespace belay::runtime::testing
