// SPDX-License-Identifier: Apache-2.0
#include "belay/testing/hook_driver.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "belay/checkpoint.h"
#include "belay/events.h"
#include "belay/testing/allocations.h"
#include "belay/testing/error_of.h"
#include "tests/sdk/testing/driven_hook.h"

BELAY_COUNT_ALLOCATIONS

namespace {

using namespace belay::testing;
using belay::Code;
using belay::Graph;
using belay::Output;
using belay::RunArgs;
using belay::RunContext;
using belay::RunValues;
using belay::Session;
using belay::Tensor;
using belay::TensorView;

using Texts = std::vector<std::string>;

// Notes every call.
class Diary final : public belay::Hook {
 public:
  void begin(Graph&) override { calls.push_back("begin"); }
  void after_create_session(Session&) override { calls.push_back("after_create_session"); }
  RunArgs before_run(RunContext&) override {
    calls.push_back("before_run");
    return {};
  }
  void after_run(RunContext&, const RunValues&) override { calls.push_back("after_run"); }
  void end(Session&) override { calls.push_back("end"); }
  void before_save(Session&, std::int64_t step) override { calls.push_back("before_save " + std::to_string(step)); }
  bool after_save(Session&, const belay::Saved& saved) override {
    calls.push_back("after_save " + std::to_string(saved.step));
    return stop_after_save;
  }
  void on_error(const belay::Error& e) override { calls.push_back(std::string("on_error ") + e.what()); }
  void save_state(belay::StateWriter& state) const override {
    state.put("calls", static_cast<std::int64_t>(calls.size()));
  }
  void load_state(const belay::StateReader& state) override {
    calls.push_back("load_state " + std::to_string(state.integer("calls")));
  }
  Texts calls;
  bool stop_after_save = false;
};

// Keeps a tensor; knows what wrote the one that it loads.
class Rows final : public belay::Hook {
 public:
  void save_state(belay::StateWriter& state) const override {
    std::copy(rows.begin(), rows.end(), state.tensor("rows", belay::DType::kFloat64, {2, 2}).data<double>());
  }
  void load_state(const belay::StateReader& state) override {
    const TensorView stored = state.tensor("rows");
    rows.assign(stored.data<const double>(), stored.data<const double>() + stored.size());
    from = state.written_by();
  }
  std::vector<double> rows{1, 2, 3, 4};
  std::string from = "nobody";
};

TEST(HookDriver, B_08a_ATensorComesBackInARecoveryAndInAnotherDriver) {
  Driven<Rows> first;
  first.driver->save();
  first.hook->rows = {5, 6, 7, 8};
  first.driver->recover();
  EXPECT_EQ(first.hook->rows, (std::vector<double>{1, 2, 3, 4}));
  const StoredState saved = first.driver->save_state();
  EXPECT_EQ(saved.at("rows"), StoredValue(Tensor({2, 2}, {1.0, 2.0, 3.0, 4.0})));
  Driven<Rows> second;
  second.hook->rows.clear();
  second.driver->load_state(saved, "1.4");
  EXPECT_EQ(second.hook->rows, (std::vector<double>{1, 2, 3, 4}));
  EXPECT_EQ(second.hook->from, "1.4");
}

TEST(HookDriver, PlaysALifeInOrder) {
  Driven<Diary> d;
  d.driver->step();
  EXPECT_FALSE(d.driver->save());
  d.driver->failed_step();
  d.driver->recover();
  d.driver->end();
  EXPECT_EQ(d.hook->calls, (Texts{"begin", "after_create_session", "before_run", "after_run", "before_save 1",
                                  "after_save 1", "before_run", "load_state 5", "after_create_session", "end"}));
}

TEST(HookDriver, AnErrorEndsTheSessionWithoutEnd) {
  Driven<Diary> d;
  d.driver->failed_step();
  d.driver->error(belay::Error(Code::kInternal, "disk on fire"));
  EXPECT_EQ(d.hook->calls.back(), "on_error disk on fire");
  EXPECT_EQ(error_of([&] { d.driver->step(); }), "FAILED_PRECONDITION: step comes after create_session");
}

TEST(HookDriver, TheOrderOfCallsIsHeld) {
  HookDriver driver(std::make_unique<Diary>());
  EXPECT_EQ(error_of([&] { driver.create_session(); }), "FAILED_PRECONDITION: create_session comes after begin");
  EXPECT_EQ(error_of([&] { driver.step(); }), "FAILED_PRECONDITION: step comes after create_session");
  driver.begin();
  EXPECT_EQ(error_of([&] { driver.begin(); }), "FAILED_PRECONDITION: begin comes once; see begin_again");
  driver.destroy();
  EXPECT_EQ(error_of([&] { driver.create_session(); }), "FAILED_PRECONDITION: the hook was destroyed");
}

TEST(HookDriver, AfterSaveMayStopTheSession) {
  Driven<Diary> d;
  d.hook->stop_after_save = true;
  EXPECT_TRUE(d.driver->save());
  EXPECT_TRUE(d.driver->stop_asked());
  EXPECT_EQ(d.driver->stop_reason(), "after_save asked for it");
}

TEST(HookDriver, ARequestToSaveIsPlayedAtTheEndOfTheStep) {
  class Saver final : public belay::Hook {
   public:
    void after_create_session(Session&) override { belay::save_checkpoint(host()); }
    void after_run(RunContext&, const RunValues&) override {
      belay::save_checkpoint(host());
      calls.push_back("asked");
    }
    void before_save(Session&, std::int64_t step) override { calls.push_back("before_save " + std::to_string(step)); }
    bool after_save(Session&, const belay::Saved&) override { return calls.size() > 4; }
    void end(Session&) override { belay::save_checkpoint(host()); }
    Texts calls;
  };
  Driven<Saver> d;
  const StepResult first = d.driver->step();
  EXPECT_TRUE(first.saved);
  EXPECT_FALSE(first.stop_asked);
  const StepResult second = d.driver->step();
  EXPECT_TRUE(second.stop_asked);
  EXPECT_EQ(second.stop_reason, "after_save asked for it");
  d.driver->end();
  EXPECT_EQ(d.hook->calls, (Texts{"before_save 0", "asked", "before_save 1", "asked", "before_save 2"}));
  EXPECT_EQ(d.driver->saves(), (std::vector<std::int64_t>{0, 1, 2, 2}));
}

TEST(HookDriver, ARecoveryGoesBackToTheLastCheckpoint) {
  Driven<Diary> d;
  d.driver->step();
  d.driver->save();
  d.driver->step();
  d.driver->step();
  d.driver->recover();
  EXPECT_EQ(d.driver->step_number(), 1);
  EXPECT_EQ(d.hook->calls[d.hook->calls.size() - 2], "load_state 5");
}

TEST(HookDriver, FeedsAndOptionsAreSeen) {
  class Feeder final : public belay::Hook {
   public:
    void begin(Graph& g) override { loss_ = g.find("loss"); }
    RunArgs before_run(RunContext&) override {
      belay::RunOptions options;
      options.trace_level = belay::RunOptions::Trace::kFull;
      RunArgs args;
      args.feed(loss_, Tensor(2.5f)).options(options);
      return args;
    }

   private:
    Output loss_;
  };
  Driven<Feeder> d;
  const StepResult result = d.driver->step();
  EXPECT_TRUE(result.fetched.empty());
  EXPECT_EQ(TensorView(result.fed.at("loss")).scalar<float>(), 2.5f);
  ASSERT_TRUE(result.options.has_value());
  EXPECT_EQ(result.options->trace_level, belay::RunOptions::Trace::kFull);
}

TEST(HookDriver, ATracedStepHasNodeStatsAndAnotherHasNone) {
  class Tracer final : public belay::Hook {
   public:
    RunArgs before_run(RunContext&) override {
      belay::RunOptions options;
      options.trace_level = belay::RunOptions::Trace::kFull;
      RunArgs args;
      if (trace) args.options(options);
      return args;
    }
    void after_run(RunContext& run, const RunValues&) override {
      seen.clear();
      for (const belay::NodeStats& node : run.node_stats())
        seen.push_back(std::string(node.op) + " " + std::string(node.name) + " " + node.output.name() + " " +
                       std::to_string((node.end - node.start).count()) + " ns " + std::to_string(node.output_bytes));
    }
    bool trace = false;
    Texts seen;
  };
  Driven<Tracer> d;
  d.driver->session().node_stats("loss", "Mean", 1, 1.5, 4);
  d.driver->step();
  EXPECT_TRUE(d.hook->seen.empty());
  d.hook->trace = true;
  d.driver->step();
  EXPECT_EQ(d.hook->seen, Texts{"Mean loss loss:0 500000000 ns 4"});
}

TEST(HookDriver, ACheckpointThatBeforeSaveSkipsIsNotAmongTheSaves) {
  class Choosy final : public belay::Hook {
   public:
    void before_save(Session&, std::int64_t step) override {
      if (step == 1) belay::skip_checkpoint("not this one");
    }
    bool after_save(Session&, const belay::Saved&) override {
      ++saves;
      return false;
    }
    int saves = 0;
  };
  Driven<Choosy> d;
  d.driver->step();
  EXPECT_FALSE(d.driver->save());
  d.driver->step();
  d.driver->save();
  EXPECT_EQ(d.driver->saves(), (std::vector<std::int64_t>{2}));
  EXPECT_EQ(d.hook->saves, 1);
}

TEST(HookDriver, WaitsCanJumpToTheirDeadline) {
  class Waiter final : public belay::Hook {
   public:
    RunArgs before_run(RunContext& run) override {
      stopped = run.session().coordinator().wait_for_stop(std::chrono::hours(1));
      return {};
    }
    bool stopped = true;
  };
  Driven<Waiter> d;
  d.driver->host().clock.jump_over_waits();
  d.driver->step();
  EXPECT_FALSE(d.hook->stopped);
  EXPECT_EQ(d.driver->host().clock.monotonic_ns(), 3'600'000'000'000);
}

TEST(HookDriver, TheCallersFetchesAreSeen) {
  class Nosy final : public belay::Hook {
   public:
    RunArgs before_run(RunContext& run) override {
      for (const Output& o : run.original_fetches()) names.push_back(o.name());
      return {};
    }
    Texts names;
  };
  Driven<Nosy> d;
  d.driver->caller_fetches({"loss"});
  d.driver->step();
  EXPECT_EQ(d.hook->names, Texts{"loss:0"});
}

TEST(HookDriver, ASecondBeginMustAddNothing) {
  class Adder final : public belay::Hook {
   public:
    explicit Adder(bool careful) : careful_(careful) {}
    void begin(Graph& g) override {
      if (careful_ && g.find_if_exists("norm")) return;
      g.node("Norm", "norm").in(g.find("loss")).output();
    }

   private:
    const bool careful_;
  };
  EXPECT_NO_THROW(Driven<Adder>(true).driver->begin_again());
  Driven<Adder> careless(false);
  EXPECT_EQ(error_of([&] { careless.driver->begin_again(); }),
            "FAILED_PRECONDITION: the second begin changed the graph, from\n"
            "Declared loss -> float32 []\n"
            "Declared global_step -> int64 []\n"
            "Norm norm in loss -> float32 []\n"
            "collection global_step: global_step\n"
            "to\n"
            "Declared loss -> float32 []\n"
            "Declared global_step -> int64 []\n"
            "Norm norm in loss -> float32 []\n"
            "Norm norm_1 in loss -> float32 []\n"
            "collection global_step: global_step\n");
}

TEST(HookDriver, TheGraphIsFrozenAfterBegin) {
  class Late final : public belay::Hook {
   public:
    void after_create_session(Session& s) override { s.graph().node("Norm", "late").output(); }
  };
  EXPECT_EQ(
      error_of([] { Driven<Late>(); }),
      "FAILED_PRECONDITION: Graph is finalized and cannot be modified: node 'late' (Norm) was added after the session "
      "was made; add it in begin(), or before the session");
}

TEST(HookDriver, AStopThroughTheCoordinatorIsSeen) {
  class Stopper final : public belay::Hook {
   public:
    void after_create_session(Session& s) override { s.coordinator().request_stop("nothing to do"); }
  };
  Driven<Stopper> d;
  EXPECT_TRUE(d.driver->stop_asked());
  EXPECT_EQ(d.driver->stop_reason(), "nothing to do");
  d.driver->end();
  EXPECT_EQ(d.driver->stop_reason(), "nothing to do");
}

TEST(HookDriver, AThreadOfTheHookMustEndWithTheSession) {
  class Unjoined final : public belay::Hook {
   public:
    void after_create_session(Session& s) override { s.coordinator().register_thread("sampler", *this); }
    bool join(std::chrono::nanoseconds) { return false; }
  };
  Driven<Unjoined> d;
  EXPECT_EQ(error_of([&] { d.driver->end(); }), "FAILED_PRECONDITION: the hook's thread 'sampler' did not end");
}

TEST(HookDriver, AHostMayLackAService) {
  class Writer final : public belay::Hook {
   public:
    void after_create_session(Session&) override { belay::Events(host()).flush(); }
  };
  HookDriver driver(std::make_unique<Writer>(), {.without = {"events"}});
  driver.begin();
  EXPECT_EQ(error_of([&] { driver.create_session(); }), "UNIMPLEMENTED: the other side offers no 'events.flush'");
}

TEST(HookDriver, TheSetupReachesTheHook) {
  class Asker final : public belay::Hook {
   public:
    void begin(Graph&) override {
      host().info(host().instance_name() + " " + host().run_directory() + (host().interactive() ? " live" : ""));
    }
  };
  HookDriver driver(std::make_unique<Asker>(),
                    {.instance_name = "second", .run_directory = "/tmp/run", .interactive = true});
  driver.begin();
  EXPECT_EQ(driver.logged(), Texts{"info: second /tmp/run live"});
}

TEST(HookDriver, LinesBelongToTheirStep) {
  class Talker final : public belay::Hook {
   public:
    void begin(Graph&) override { host().info("begun"); }
    void after_run(RunContext&, const RunValues&) override { host().warning("run"); }
  };
  Driven<Talker> d;
  EXPECT_EQ(d.driver->step().logged, Texts{"warning: run"});
  EXPECT_EQ(d.driver->logged(), (Texts{"info: begun", "warning: run"}));
}

TEST(HookDriver, AProbeSeesWhatTheCallbacksDo) {
  class Allocating final : public belay::Hook {
   public:
    RunArgs before_run(RunContext&) override {
      if (n > 0) numbers.resize(numbers.size() + 1000);
      return {};
    }
    int n = 0;
    std::vector<double> numbers;
  };
  Driven<Allocating> d;
  d.driver->probe_with(allocations);
  EXPECT_EQ(d.driver->step().probed, 0u);
  d.hook->n = 1;
  EXPECT_EQ(d.driver->step().probed, 1u);
}

TEST(HookDriver, StatesAreMaps) {
  Driven<Diary> d;
  EXPECT_EQ(d.driver->save_state(), (StoredState{{"calls", 2}}));
  d.driver->load_state({{"calls", 41}});
  EXPECT_EQ(d.hook->calls.back(), "load_state 41");
}

// A hook in C may lack any callback.
TEST(HookDriver, MissingCallbacksAreSkipped) {
  belay_hook_api table{};
  table.struct_size = sizeof(table);
  table.create = [](const belay_host_api*, belay_host*, const belay_named_value*, std::uint64_t, void** self,
                    belay_status*) -> std::int32_t {
    static int object;
    *self = &object;
    return BELAY_OK;
  };
  HookDriver driver(&table);
  driver.begin();
  driver.create_session();
  EXPECT_TRUE(driver.step().fetched.empty());
  EXPECT_FALSE(driver.save());
  EXPECT_TRUE(driver.save_state().empty());
  driver.end();

  table.create = [](const belay_host_api*, belay_host*, const belay_named_value*, std::uint64_t, void**,
                    belay_status*) -> std::int32_t { return BELAY_OK; };
  EXPECT_EQ(error_of([&] { HookDriver none(&table); }), "FAILED_PRECONDITION: create succeeded but gave no instance");
}

// In C a result must be released by hand.
TEST(HookDriver, AResultThatIsNotReleasedIsFound) {
  class Leaky final : public belay::Hook {
   public:
    void after_create_session(Session& s) override {
      const belay_session_api& api = host().services().session;
      const auto nothing = belay::detail::sized<belay_run_args>();
      belay_result* result = nullptr;
      belay::detail::Status status;
      status.check(api.run(s.raw(), &nothing, &result, status));
    }
  };
  Driven<Leaky> d;
  EXPECT_EQ(error_of([&] { d.driver->destroy(); }), "FAILED_PRECONDITION: the hook did not release a raw run's result");
}

}  // namespace
