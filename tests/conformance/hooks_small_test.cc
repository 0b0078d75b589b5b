// SPDX-License-Identifier: Apache-2.0
// GlobalStepWaiterHook, FinalOpsHook and FeedFnHook: sections 19 to 21 of the contract.
#include <belay/hooks/feed_fn.h>
#include <belay/hooks/final_ops.h>

#include <atomic>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/conformance/hooks_fixture.h"
#include "tests/platform/event_thread.h"

namespace belay::runtime::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// A clock on which something else happens in each wait.
class BusyClock final : public Clock {
 public:
  std::int64_t monotonic_ns() const override { return now_ns_; }
  std::int64_t wall_ns() const override { return now_ns_; }
  void wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable& changed,
                  std::int64_t deadline_ns) override {
    if (is_event_thread()) return changed.wait(lock);
    if (deadline_ns <= now_ns_) return;
    waits_ms.push_back((deadline_ns - now_ns_) / 1'000'000);
    now_ns_ = deadline_ns;
    if (!meanwhile) return;
    lock.unlock();
    meanwhile();
    lock.lock();
  }
  std::function<void()> meanwhile;
  std::vector<std::int64_t> waits_ms;

 private:
  std::atomic<std::int64_t> now_ns_ = 0;  // also read by the thread that writes events
};

class GlobalStepWaiterConformance : public HookConformance {
 protected:
  ~GlobalStepWaiterConformance() override { session.reset(); }  // before its clock
  TrainingSessionSetup waiting(std::int64_t until) {
    TrainingSessionSetup o = with("global_step_waiter", {{"wait_until_step", n(until)}});
    o.clock = &busy;
    return o;
  }
  // Another worker makes so many steps in each wait.
  void others_step(std::int64_t steps) {
    busy.meanwhile = [this, steps] { set_step(step() + steps); };
  }
  BusyClock busy;
};

TEST_F(GlobalStepWaiterConformance, PROSE_19_TheFirstRunWaitsAndNoOther) {
  EXPECT_THAT(error_of([&] { open(with("global_step_waiter")); }), HasSubstr("wait_until_step"));
  NodeGraph without(*ops);
  EXPECT_THAT(error_of([&] { MonitoredTrainingSession(without, waiting(1)); }),
              EndsWith("in begin: the graph has no global step"));
  new_program();
  open(waiting(5));
  others_step(1);
  run();
  EXPECT_EQ(busy.waits_ms.size(), 5u);
  EXPECT_EQ(step(), 6);
  set_step(0);
  run();
  EXPECT_EQ(busy.waits_ms.size(), 5u);
}

TEST_F(GlobalStepWaiterConformance, GSW_01_NothingToWaitForReadsNothing) {
  for (const std::int64_t until : {0, -1}) {
    new_program();
    TrainingSessionSetup o = waiting(until);
    o.checkpoint_dir = temp / std::to_string(until);
    open(std::move(o));
    const PlanStats before = (*session)->raw_session()->plan_stats();
    run();
    EXPECT_THAT(busy.waits_ms, IsEmpty());
    EXPECT_EQ((*session)->raw_session()->plan_stats().plans_built, before.plans_built + 1);  // the caller's alone
  }
}

TEST_F(GlobalStepWaiterConformance, GSW_03_LooksEveryHalfSecondLogsEveryThousandStepsAndWaitsOnce) {
  TrainingSessionSetup o = waiting(2500);
  auto failing = probe("failing");
  int runs = 0;
  failing->in["after_run"] = [&] {
    if (++runs == 2) fail(Code::kAborted, "preempted");
  };
  o.hooks.push_back(own_hook("failing", std::move(failing)));
  open(std::move(o));
  others_step(600);
  run();
  EXPECT_THAT(busy.waits_ms, ElementsAre(500, 500, 500, 500, 500));
  EXPECT_THAT(log.of("global_step_waiter"),
              ElementsAre("waiting for global step 2500 before the first run; it is 0",
                          "waiting for global step 2500 before the first run; it is 1200",
                          "waiting for global step 2500 before the first run; it is 2400"));
  busy.meanwhile = nullptr;
  busy.waits_ms.clear();
  run();  // recovers, to a store that begins at 0 again
  EXPECT_EQ(runs, 3);
  EXPECT_THAT(busy.waits_ms, IsEmpty());
  // Mended: who asks to stop is not waited for.
  new_program();
  TrainingSessionSetup stopped = waiting(10);
  stopped.checkpoint_dir = temp / "stopped";
  MonitoredSession& s = open(std::move(stopped));
  busy.meanwhile = [&] {
    if (busy.waits_ms.size() == 3) (*session)->raw_session()->handle().coordinator().request_stop("enough");
  };
  s.scope([&] {
    while (!s.should_stop()) run();
  });
  EXPECT_EQ(busy.waits_ms.size(), 3u);
  EXPECT_TRUE(s.closed());
}

class FinalOpsConformance : public HookConformance {
 protected:
  // A program's own hook; what it fetched is read from it.
  belay::FinalOps& add(TrainingSessionSetup& o, std::vector<Output> wanted, belay::FinalOps::Feeds feeds = {}) {
    auto hook = std::make_unique<belay::FinalOps>(std::move(wanted), std::move(feeds));
    belay::FinalOps& added = *hook;
    o.hooks.push_back(own_hook("final_ops", std::move(hook)));
    return added;
  }
  nlohmann::json file() const {
    std::ifstream in(run_directory() + "/final_ops.json");
    return nlohmann::json::parse(in);
  }
};

TEST_F(FinalOpsConformance, PROSE_20_TheManifestsOneLogsAndWritesThemAtTheEnd) {
  const Output x = ops::placeholder(program->g, DType::kFloat32, {2}, "x");
  ops::add(x, program->weight, "sum");
  open(with("final_ops", {{"ops", std::vector<std::string>{"global_step", "sum", "train"}},
                          {"feeds.x", std::vector<double>{1, 2}}}));
  run(2);
  EXPECT_FALSE(posix_file_system().exists(run_directory() + "/final_ops.json"));
  (*session)->close();
  // `train` ran once more, after the fetches of the tensors that it writes.
  EXPECT_THAT(log.of("final_ops"), ElementsAre("global_step = 2", "sum = [3, 4]"));
  EXPECT_EQ(file(), nlohmann::json::parse(R"({"global_step": 2, "sum": [3.0, 4.0]})"));
}

TEST_F(FinalOpsConformance, FINOP_01_AScalar) {
  TrainingSessionSetup o = bare();
  const belay::FinalOps& final_ops = add(o, {program->weight});
  open(std::move(o));
  run(2);
  EXPECT_THAT(final_ops.values(), IsEmpty());
  (*session)->close();
  ASSERT_EQ(final_ops.values().size(), 1u);
  EXPECT_EQ(TensorView(final_ops.values()[0]).scalar<float>(), 2.0f);
}

TEST_F(FinalOpsConformance, FINOP_02_AVector) {
  const Output vector = ops::constant(program->g, Tensor({3}, {37.0f, 38.0f, 39.0f}));
  TrainingSessionSetup o = bare();
  const belay::FinalOps& final_ops = add(o, {vector, program->step});
  open(std::move(o));
  (*session)->close();
  ASSERT_EQ(final_ops.values().size(), 2u);
  EXPECT_EQ(final_ops.values()[0].dims(), Dims{3});
  EXPECT_EQ(TensorView(final_ops.values()[0]).number(2), 39);
}

// FINOP-03
TEST_F(FinalOpsConformance, T_16a_OnesThatDependOnAnInputAreAWarningAndTheErrorComesOut) {
  const Output count = ops::variable(program->g, "count", Tensor(std::int64_t{0}), ops::VariableKind::kLocal);
  TrainingSessionSetup o = bare();
  add(o, {ops::count_up_to(count, 1, "input")});
  open(std::move(o));
  (*session)->run({program->g.find("input")});  // its end
  EXPECT_THAT(error_of([&] { (*session)->close(); }), HasSubstr("OUT_OF_RANGE"));
  ASSERT_EQ(log.of("final_ops").size(), 1u);
  EXPECT_THAT(log.of("final_ops")[0], StartsWith("the final ops depend on an input, and that has ended: "));
}

TEST_F(FinalOpsConformance, FINOP_04_TheFeedIsUsed) {
  const Output x = ops::placeholder(program->g, DType::kFloat32, {}, "x");
  const Output sum = ops::add(x, program->weight);
  TrainingSessionSetup o = bare();
  const belay::FinalOps& final_ops = add(o, {sum}, {{x, Tensor(10.0f)}});
  open(std::move(o));
  run();
  (*session)->close();
  EXPECT_EQ(TensorView(final_ops.values().at(0)).scalar<float>(), 11.5f);
}

TEST_F(FinalOpsConformance, FINOP_05_WithoutOpsNothingHappens) {
  TrainingSessionSetup o = with("final_ops");
  const belay::FinalOps& own = add(o, {});
  o.hooks.back().name = "own";
  open(std::move(o));
  run();
  (*session)->close();
  EXPECT_THAT(own.values(), IsEmpty());
  EXPECT_THAT(log.of("final_ops"), IsEmpty());
  EXPECT_FALSE(posix_file_system().exists(run_directory() + "/final_ops.json"));
}

class FeedFnConformance : public HookConformance {
 protected:
  FeedFnConformance() {
    x = ops::placeholder(program->g, DType::kFloat32, {}, "x");
    y = ops::add(x, ops::constant(program->g, Tensor(1.0f)), "y");
  }
  float fetch_y() { return (*session)->run({y, program->train})[0].scalar<float>(); }
  Output x, y;
};

TEST_F(FeedFnConformance, PROSE_21_TheManifestsOneFeedsConstantsAndAConflictIsAnError) {
  open(with("feed_fn", {{"feeds.x", n(2)}}));
  EXPECT_EQ(fetch_y(), 3.0f);
  EXPECT_EQ(fetch_y(), 3.0f);
  EXPECT_THAT(error_of([&] {
                (*session)->run({y}, {{x, Tensor(1.0f)}});
              }),
              HasSubstr("[B5072] Same tensor is fed twice: 'x:0' by hook 'feed_fn' and by another hook or the caller"));
  session.reset();
  EXPECT_EQ(error_of([] { belay::FeedFn(nullptr); }), "INVALID_ARGUMENT: FeedFn was given no function");
}

TEST_F(FeedFnConformance, FEED_01_CalledBeforeEachRunAndTheCallerFeedsNothing) {
  TrainingSessionSetup o = bare();
  int calls = 0;
  o.hooks.push_back(own_hook("feed", std::make_unique<belay::FeedFn>([&] {
                               ++calls;
                               return belay::FeedFn::Feeds{{x, Tensor(1.0f)}};
                             })));
  open(std::move(o));
  EXPECT_EQ(fetch_y(), 2.0f);
  EXPECT_EQ(calls, 1);
  fetch_y();
  EXPECT_EQ(calls, 2);
}

TEST_F(FeedFnConformance, FEED_02_ARunThatIsRepeatedTakesTheNextValue) {
  TrainingSessionSetup o = bare();
  float next = 0;
  o.hooks.push_back(own_hook("feed", std::make_unique<belay::FeedFn>([&] {
                               return belay::FeedFn::Feeds{{x, Tensor(next++)}};
                             })));
  auto failing = probe("failing");
  int runs = 0;
  failing->in["after_run"] = [&] {
    if (++runs == 2) fail(Code::kAborted, "preempted");
  };
  o.hooks.push_back(own_hook("failing", std::move(failing)));
  open(std::move(o));
  EXPECT_EQ(fetch_y(), 1.0f);
  EXPECT_EQ(fetch_y(), 3.0f);  // 1 went with the run that was lost
}

}  // namespace
}  // namespace belay::runtime::testing
