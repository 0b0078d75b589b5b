// SPDX-License-Identifier: Apache-2.0
// The seam between minimize and plugins: the order of the calls, what is given, what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "belay/ops/math.h"
#include "belay/ops/reductions.h"
#include "belay/plugin.h"
#include "plugins/default_plugins.h"
#include "runtime/optimizer/learning_rate.h"
#include "runtime/optimizer/optimizer.h"
#include "tests/session/session_fixture.h"

namespace {

std::vector<std::string> timeline;

// Keeps one variable for all, counts in finish how many steps it has made, and writes down how it is called.
class Recorder final : public belay::Optimizer {
 public:
  static constexpr auto about = belay::about("recorder", "Writes down how it is called");

  void create_slots(const belay::OptimizerContext& o) override {
    timeline.push_back("create_slots of " + std::to_string(o.size()));
    count_ = o.slot_for_all("recorder_count", 0);
  }
  void prepare(const belay::OptimizerContext& o) override {
    timeline.emplace_back("prepare");
    half_ = o.scalar(0.5, "half");
  }
  belay::Output apply(const belay::OptimizerContext& o, const belay::Update& u) override {
    timeline.push_back("apply " + std::to_string(u.index) + " " + u.name);
    return belay::ops::assign_sub(u.variable, u.gradient * o.learning_rate() * half_, u.name);
  }
  std::vector<belay::Output> finish(const belay::OptimizerContext& o,
                                    const std::vector<belay::Output>& updates) override {
    timeline.push_back("finish of " + std::to_string(updates.size()));
    const auto after = o.graph().after(updates);
    return {belay::ops::assign_add(count_, o.scalar(1))};
  }

 private:
  belay::Output count_, half_;
};

// Does the work of `mode` instead of an update.
class Wrong final : public belay::Optimizer {
 public:
  struct Options {
    belay::Str mode;
  };
  static constexpr auto about =
      belay::about("wrong", "Does what is wrong", belay::option("mode", &Options::mode, "what").required());
  explicit Wrong(const Options& o) : mode_(o.mode.string()) {}

  belay::Output apply(const belay::OptimizerContext& o, const belay::Update& u) override {
    if (mode_ == "fails") belay::fail(belay::Code::kInvalidArgument, "it does not like " + u.name);
    if (mode_ == "writes slots alone") return belay::ops::assign_add(slots_[u.index], u.gradient, u.name);
    if (mode_ == "writes y alone" && u.index == 0) return o.learning_rate();
    if (mode_ == "loses a write") belay::ops::assign_sub(u.variable, u.gradient, u.name);
    if (mode_ == "writes in finish") updates_.push_back(u);
    if (mode_ == "writes twice")
      return belay::ops::assign_sub(belay::ops::assign_add(u.variable, u.gradient), u.gradient, u.name);
    if (mode_ == "writes y alone") return belay::ops::assign_sub(u.variable, u.gradient, u.name);
    return mode_ == "nothing" ? belay::Output() : o.learning_rate();
  }
  void create_slots(const belay::OptimizerContext& o) override {
    if (mode_ == "writes slots alone") slots_ = o.slots("sum");
  }
  std::vector<belay::Output> finish(const belay::OptimizerContext& o, const std::vector<belay::Output>&) override {
    if (mode_ == "finishes with nothing") return {belay::Output()};
    std::vector<belay::Output> writes;
    for (const belay::Update& u : updates_) writes.push_back(belay::ops::assign_sub(u.variable, u.gradient, u.name));
    if (writes.empty()) return {};
    return {belay::ops::group(o.graph(), writes)};
  }

 private:
  const std::string mode_;
  std::vector<belay::Output> slots_;
  std::vector<belay::Update> updates_;
};

class WrongRate final : public belay::Schedule {
 public:
  struct Options {
    belay::Str mode;
  };
  static constexpr auto about =
      belay::about("wrong_rate", "Returns what is no rate", belay::option("mode", &Options::mode, "what").required());
  explicit WrongRate(const Options& o) : mode_(o.mode.string()) {}

  belay::Output build(const belay::ScheduleContext& s) override {
    if (mode_ == "nothing") return {};
    if (mode_ == "integer") return s.global_step();
    if (mode_ == "operation") return s.step().operation();
    if (mode_ == "float32") return belay::ops::scalar(s.graph(), 0.25, belay::DType::kFloat32);
    if (mode_ == "large") return s.scalar(1e300);
    if (mode_ == "nan at 1") return s.scalar(0.1) / (s.step() - 1.0) * (s.step() - 1.0);
    return belay::ops::fill(s.graph(), {2}, 1, belay::DType::kFloat64);
  }

 private:
  const std::string mode_;
};

}  // namespace

BELAY_MODULE("1.0.0", Recorder, Wrong, WrongRate)

namespace belay::runtime::testing {
namespace {

using ::testing::ElementsAre;

class OptimizerPlugins : public SessionTest {
 protected:
  Output minimized(const OptimizerSettings& s) {
    std::vector<Output> losses;
    for (const char* name : {"x", "y"}) {
      variables_.push_back(ops::variable(g, name, Tensor({2}, {1.0, -2.0})));
      losses.push_back(ops::reduce_sum(ops::square(variables_.back())));
    }
    std::vector<const belay_module*> modules = default_plugins();
    modules.push_back(&belay_module_v0);
    return minimize(g, ops::add_n(losses), LinkedOptimizer(s, modules).use());
  }
  std::string error_of_minimize(const OptimizerSettings& s) {
    return error_of([&] { minimized(s); });
  }

  std::vector<Output> variables_;
};

TEST_F(OptimizerPlugins, B_18c_CallbacksComeInTensorFlowsOrderOncePerGraph) {
  timeline.clear();
  const Output train = minimized({.name = "recorder", .learning_rate = {.learning_rate = 0.5}});
  EXPECT_THAT(timeline,
              ElementsAre("create_slots of 2", "prepare", "apply 0 update_x", "apply 1 update_y", "finish of 2"));
  open();
  initialize();
  run(train);
  run(train);
  EXPECT_EQ(timeline.size(), 5u);  // no code of it runs in a step
  EXPECT_EQ(values<double>(variables_[0]), (std::vector<double>{0.25, -0.5}));
  EXPECT_EQ(value<double>(g.find("recorder_count")), 2);
  EXPECT_EQ(session().global_step(), 2);
  EXPECT_TRUE(g.find_if_exists("train/half"));
  EXPECT_TRUE(g.find_if_exists("train/update_x"));
}

TEST_F(OptimizerPlugins, B_18d_WhatAPluginReturnsIsChecked) {
  const std::string label = "optimizer \"wrong\" (linked in, 1.0.0) in ";
  EXPECT_THAT(error_of_minimize({.name = "wrong", .options = {{"mode", std::string("nothing")}}}),
              ::testing::HasSubstr(label + "apply"));
  EXPECT_THAT(error_of_minimize({.name = "wrong", .options = {{"mode", std::string("finishes with nothing")}}}),
              ::testing::HasSubstr(label + "finish"));
  for (const char* mode : {"nothing", "integer", "operation", "vector"})
    EXPECT_THAT(
        error_of_minimize({.learning_rate = {.schedule = "wrong_rate", .options = {{"mode", std::string(mode)}}}}),
        ::testing::HasSubstr("schedule \"wrong_rate\" (linked in, 1.0.0) in build: "))
        << mode;
}

TEST_F(OptimizerPlugins, B_18d_ARateInFloat32IsARateToo) {
  minimized({.learning_rate = {.schedule = "wrong_rate", .options = {{"mode", std::string("float32")}}}});
  open();
  initialize();
  EXPECT_EQ(value<float>(g.find("learning_rate")), 0.25f);
}

const std::string kRateOfSchedule =
    "DIVERGED: node 'learning_rate_schedule/checked_learning_rate' (CheckNumerics): the learning rate of schedule "
    "\"wrong_rate\" (linked in, 1.0.0): the tensor has ";

TEST_F(OptimizerPlugins, T_145_ARateThatIsNotANumberFailsItsStepBeforeAnythingIsWritten) {
  const Output train =
      minimized({.learning_rate = {.schedule = "wrong_rate", .options = {{"mode", std::string("nan at 1")}}}});
  open();
  initialize();
  run(train);
  const std::vector<double> before = values<double>(variables_[0]);
  EXPECT_EQ(error_of([&] { run(train); }), kRateOfSchedule + "NaN values");
  EXPECT_EQ(values<double>(variables_[0]), before);
}

TEST_F(OptimizerPlugins, T_145_ARateThatFloat32DoesNotHaveFailsItsStep) {
  const Output train =
      minimized({.learning_rate = {.schedule = "wrong_rate", .options = {{"mode", std::string("large")}}}});
  open();
  initialize();
  EXPECT_EQ(error_of([&] { run(train); }), kRateOfSchedule + "infinite values");
}

TEST_F(OptimizerPlugins, B_18d_AnErrorNamesPluginAndCallback) {
  EXPECT_EQ(error_of_minimize({.name = "wrong", .options = {{"mode", std::string("fails")}}}),
            "INVALID_ARGUMENT: optimizer \"wrong\" (linked in, 1.0.0) in apply: it does not like update_x");
}

TEST_F(OptimizerPlugins, AVariableThatNoStepWouldWriteIsRefusedByName) {
  const auto with_mode = [&](const char* mode) {
    return error_of_minimize({.name = "wrong", .options = {{"mode", std::string(mode)}}});
  };
  const auto refused = [](const std::string& variable) {
    return "INVALID_ARGUMENT: optimizer \"wrong\" (linked in, 1.0.0): a step would not write the variable '" +
           variable + "'; apply must return a node that runs after the node that writes it";
  };
  EXPECT_EQ(with_mode("writes none"), refused("x"));
  EXPECT_EQ(with_mode("writes slots alone"), refused("x_1"));
  EXPECT_EQ(with_mode("loses a write"), refused("x_2"));
  EXPECT_EQ(with_mode("writes y alone"), refused("x_3"));
}

TEST_F(OptimizerPlugins, AVariableMayBeWrittenInFinishAndBehindOtherWrites) {
  for (const char* mode : {"writes in finish", "writes twice"}) {
    EXPECT_EQ(error_of_minimize({.name = "wrong", .options = {{"mode", std::string(mode)}}}), "no error") << mode;
  }
}

TEST_F(OptimizerPlugins, B_18e_TheHostItselfHasNoOptimizerAndNoSchedule) {
  for (const char* name : {"sgd", "momentum", "adagrad", "rmsprop", "adam", "adamw", "ftrl"})
    EXPECT_EQ(error_of([&] { LinkedOptimizer({.name = name}, {}); }),
              "NOT_FOUND: [B2039] there is no optimizer \"" + std::string(name) +
                  "\" among the session's plugins: give it belay::default_plugins()");
  const std::vector<const belay_module*> own = {&belay_module_v0};
  EXPECT_EQ(error_of([&] { LinkedOptimizer({.name = "recorder", .learning_rate = {.schedule = "constant"}}, own); }),
            "NOT_FOUND: [B2039] there is no schedule \"constant\" among the session's plugins; there are: wrong_rate; "
            "add its "
            "belay_module to the plugins that the program gives");
  LinkedOptimizer({.name = "recorder", .learning_rate = {.learning_rate = 1}}, own);  // a number needs no plugin
}

// The structs grow at their end: an older host's is shorter, a newer one's has flags that mean something.
TEST_F(OptimizerPlugins, B_18f_AStructIsReadUpToItsSizeAndUnknownFlagsAreRefused) {
  const Output step = ops::create_global_step(g);
  struct Longer {
    belay_schedule_args known;
    std::uint64_t later;
  } longer{{sizeof(Longer), BELAY_SCHEDULE_RATE_IS_GIVEN, g.raw(), 0.5, step.raw(), step.raw()}, 7};
  detail::Services services{};
  services.graph = *g.api();
  belay_schedule_args room;
  const auto context = [&](const belay_schedule_args& given) {
    return ScheduleContext(&services, detail::read_sized(&given, room, BELAY_SCHEDULE_RATE_IS_GIVEN));
  };
  EXPECT_EQ(context(longer.known).learning_rate(), 0.5);
  belay_schedule_args shorter = longer.known;
  shorter.struct_size = offsetof(belay_schedule_args, learning_rate);
  EXPECT_EQ(context(shorter).learning_rate(), 0);
  longer.known.flags = 1u << 31;
  EXPECT_EQ(error_of([&] { context(longer.known); }),
            "UNIMPLEMENTED: belay_schedule_args has the unknown flag 2147483648; this side was built before it");
}

// A finish that is written without the SDK may return these claims about its list.
TEST_F(OptimizerPlugins, T_145_TheListThatFinishReturnsIsCheckedAndNamed) {
  static std::uint64_t n = 0;
  const char* label = "optimizer \"wrong\" (linked in, 1.0.0) in finish: it returned n_more = ";
  belay_optimizer_api table = *static_cast<const belay_optimizer_api*>(belay_module_v0.plugins[1]->table);
  table.finish = [](void*, const belay_optimizer_args*, const belay_output*, const belay_output**,
                    std::uint64_t* n_more, belay_status*) -> std::int32_t {
    *n_more = n;
    return BELAY_OK;
  };
  const belay_plugin plugin{BELAY_KIND_OPTIMIZER, 0, "wrong", &table};
  const belay_plugin* plugins[] = {belay_module_v0.plugins[0], &plugin, belay_module_v0.plugins[2]};
  belay_module module = belay_module_v0;
  module.plugins = plugins;
  const Output x = ops::variable(g, "x", Tensor({2}, {1.0, -2.0}));
  const auto minimized_by_it = [&] {
    minimize(g, ops::reduce_sum(ops::square(x)),
             LinkedOptimizer({.name = "wrong", .options = {{"mode", std::string("rate")}}}, {&module}).use());
  };
  n = 5;
  EXPECT_THAT(error_of(minimized_by_it), ::testing::HasSubstr(label + std::string("5, and more is null")));
  n = std::uint64_t{1} << 60;
  EXPECT_THAT(error_of(minimized_by_it),
              ::testing::HasSubstr(label + std::string("1152921504606846976, more than 1048576")));
}

// A table in C with nothing but what is mandatory.
TEST_F(OptimizerPlugins, B_18g_SlotsThatAreAbsentAreSkipped) {
  belay_optimizer_api table{};
  table.struct_size = sizeof(table);
  table.create = [](const belay_host_api*, belay_host*, const belay_named_value*, std::uint64_t, void**,
                    belay_status*) -> std::int32_t { return BELAY_OK; };
  table.destroy = [](void*) {};
  EXPECT_EQ(missing_slot(PluginKind::kOptimizer, &table), "apply");
  table.apply = [](void*, const belay_optimizer_args*, std::uint64_t, belay_output*, belay_status*) -> std::int32_t {
    return BELAY_OK;
  };
  EXPECT_EQ(missing_slot(PluginKind::kOptimizer, &table), "");
  const auto adopted = std::get<belay_optimizer_api>(adopt_table(PluginKind::kOptimizer, &table));
  const belay_output* more = nullptr;
  std::uint64_t n_more = 0;
  EXPECT_EQ(adopted.create_slots(nullptr, nullptr, nullptr), BELAY_OK);
  EXPECT_EQ(adopted.prepare(nullptr, nullptr, nullptr), BELAY_OK);
  EXPECT_EQ(adopted.finish(nullptr, nullptr, nullptr, &more, &n_more, nullptr), BELAY_OK);
  EXPECT_EQ(n_more, 0u);
}

}  // namespace
}  // namespace belay::runtime::testing
