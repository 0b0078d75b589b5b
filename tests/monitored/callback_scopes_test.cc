// SPDX-License-Identifier: Apache-2.0
// Scopes that plugins leave open in the graph that a callback gets.
#include "runtime/graph/callback_scopes.h"

#include <gmock/gmock.h>

#include <string>

#include "belay/ops/reductions.h"
#include "runtime/graph/graph_service.h"
#include "runtime/monitored/model/build_model.h"
#include "runtime/optimizer/learning_rate.h"
#include "runtime/optimizer/optimizer.h"
#include "tests/monitored/monitored_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::HasSubstr;

// In which callback the plugins below do what; they are tables alone, so it is known to all of them.
struct Leak {
  std::string in, what;
};
Leak leak;

std::int32_t leak_in(const char* callback, belay_graph* graph, belay_status* status) {
  if (leak.in != callback) return BELAY_OK;
  const belay_graph_api& api = *graph_service();
  if (leak.what == "scope") return api.enter_scope(graph, detail::str("leaked"), status);
  if (leak.what == "control") return api.enter_control(graph, nullptr, 0, status);
  if (leak.what == "body") return api.begin_body(graph, detail::str("leaked"), status);
  for (int i = 0; i < 5; ++i) api.leave_scope(graph), api.leave_control(graph);
  return BELAY_OK;
}

template <class Api>
Api with_instance() {
  Api api{};
  api.struct_size = sizeof(api);
  api.create = [](const belay_host_api*, belay_host*, const belay_named_value*, std::uint64_t, void** self,
                  belay_status*) {
    *self = &leak;
    return BELAY_OK;
  };
  api.destroy = [](void*) {};
  return api;
}

belay_optimizer_api optimizer_table() {
  auto api = with_instance<belay_optimizer_api>();
  api.create_slots = [](void*, const belay_optimizer_args* args, belay_status* status) {
    return leak_in("create_slots", args->graph, status);
  };
  api.prepare = [](void*, const belay_optimizer_args* args, belay_status* status) {
    return leak_in("prepare", args->graph, status);
  };
  api.apply = [](void*, const belay_optimizer_args* args, std::uint64_t i, belay_output* update, belay_status* status) {
    *update = args->gradients[i];
    return leak_in("apply", args->graph, status);
  };
  api.finish = [](void*, const belay_optimizer_args* args, const belay_output*, const belay_output**, std::uint64_t*,
                  belay_status* status) { return leak_in("finish", args->graph, status); };
  return api;
}

belay_schedule_api schedule_table() {
  auto api = with_instance<belay_schedule_api>();
  api.build = [](void*, const belay_schedule_args* args, belay_output* rate, belay_status* status) {
    *rate = args->step;
    return leak_in("build", args->graph, status);
  };
  return api;
}

belay_model_api model_table() {
  auto api = with_instance<belay_model_api>();
  api.build = [](void*, const belay_model_args* args, belay_status* status) {
    return leak_in("build", args->graph, status);
  };
  return api;
}

struct Leaking final : Hook {
  void begin(Graph& graph) override {
    detail::Status status;
    status.check(leak_in("begin", graph.raw(), status));
  }
};

class CallbackScopesTest : public MonitoredTest {
 protected:
  template <class Api>
  PluginInstance& make(PluginKind kind, const Api& table) {
    plugin_.info.kind = kind;
    plugin_.info.name = "leaking";
    plugin_.table = adopt_table(kind, &table);
    ResolvedPlugin use;
    use.info = plugin_.info;
    use.instance_name = "leaking";
    return instances.create(plugin_, use, services, monitor);
  }
  std::string error_of_model() {
    PluginInstance& model = make(PluginKind::kModel, model_table());
    return error_of([&] { build_model(model, graph, Mode::kPredict, {}, {}); });
  }
  std::string error_of_hook() {
    hooks = HookSet();
    add_hook("leaking", std::make_unique<Leaking>());
    return error_of([&] { hooks.begin(graph); });
  }
  // A node that is added now has its given name, and waits for nothing.
  void expect_nothing_is_open() {
    const Output next = ops::constant(g, Tensor(1.0f), "next_" + std::to_string(++nodes_));
    EXPECT_EQ(g.node_name_of(next), "next_" + std::to_string(nodes_));
    const Node& node = graph.node(next.raw().node);
    EXPECT_EQ(node.body, 0u);
    EXPECT_TRUE(node.control_inputs.empty());
  }

 private:
  static inline RegisteredPlugin plugin_;  // the instances, which are the fixture's, use it when they are destroyed
  int nodes_ = 0;
};

const char* const kLeft[][2] = {{"scope", "it left the scope '"},
                                {"control", "it left a control scope open (enter_control)"},
                                {"body", "it left the body '"},
                                {"too many", "it left more scopes than it had entered"}};

TEST_F(CallbackScopesTest, T_144_WhatAHookLeavesOpenIsClosedAndRefusedByName) {
  for (const auto& [what, text] : kLeft) {
    leak = {"begin", what};
    const std::string error = error_of_hook();
    EXPECT_THAT(error, HasSubstr("FAILED_PRECONDITION: hook \"leaking\" in begin: " + std::string(text)));
    expect_nothing_is_open();
  }
}

TEST_F(CallbackScopesTest, T_144_AHookThatIsDisabledForItLeavesNothingOpenEither) {
  leak = {"begin", "scope"};
  add_hook("leaking", std::make_unique<Leaking>(), OnHookError::kDisable);
  hooks.begin(graph);
  EXPECT_TRUE(hooks.all()[0].disabled());
  expect_nothing_is_open();
}

TEST_F(CallbackScopesTest, T_144_WhatAModelLeavesOpenIsClosedAndRefusedByName) {
  for (const auto& [what, text] : kLeft) {
    leak = {"build", what};
    EXPECT_THAT(error_of_model(), HasSubstr("in build: " + std::string(text)));
    expect_nothing_is_open();
  }
}

TEST_F(CallbackScopesTest, T_144_WhatAScheduleLeavesOpenIsClosedAndRefusedByName) {
  for (const auto& [what, text] : kLeft) {
    leak = {"build", what};
    NodeGraph other(*ops);
    EXPECT_THAT(error_of([&] {
                  PluginInstance& schedule = make(PluginKind::kSchedule, schedule_table());
                  add_learning_rate(other.handle(), {}, ops::create_global_step(other.handle()), &schedule);
                }),
                HasSubstr("in build: " + std::string(text)));
  }
}

TEST_F(CallbackScopesTest, T_144_WhatAnOptimizerLeavesOpenInAnyOfItsCallbacksIsRefusedByName) {
  for (const char* callback : {"create_slots", "prepare", "apply", "finish"}) {
    for (const auto& [what, text] : kLeft) {
      leak = {callback, what};
      NodeGraph other(*ops);
      const belay::Graph h = other.handle();
      const Output x = ops::variable(h, "x", Tensor({2}, {1.0f, -2.0f}));
      const Output rate = ops::constant(h, Tensor(0.1f), "rate");
      PluginInstance& optimizer = make(PluginKind::kOptimizer, optimizer_table());
      EXPECT_THAT(error_of([&] {
                    apply_gradients(h, {{x, ops::identity(x)}}, rate, ops::create_global_step(h), optimizer);
                  }),
                  HasSubstr("in " + std::string(callback) + ": " + text));
      EXPECT_EQ(h.node_name_of(ops::constant(h, Tensor(1.0f), "next")), "next");
    }
  }
}

// Scopes that the host had open stay open, and the host closes them.
TEST_F(CallbackScopesTest, T_144_ACallbackCannotLeaveAScopeOfItsHost) {
  const auto scope = g.scope("hosts");
  leak = {"begin", "too many"};
  EXPECT_NE(error_of_hook(), "no error");
  EXPECT_EQ(g.node_name_of(ops::constant(g, Tensor(1.0f), "x")), "hosts/x");
}

TEST_F(CallbackScopesTest, T_144_AFrozenGraphHasNoScopesToEnter) {
  graph.finalize();
  EXPECT_EQ(error_of([&] { const auto scope = g.scope("late"); }),
            "FAILED_PRECONDITION: Graph is finalized and cannot be modified: scope 'late' was added after the session "
            "was made");
  EXPECT_THAT(error_of([&] { const auto after = g.after({}); }), HasSubstr("Graph is finalized"));
}

}  // namespace
}  // namespace belay::runtime::testing
