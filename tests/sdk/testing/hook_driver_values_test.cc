// SPDX-License-Identifier: Apache-2.0
// A hook under test sees a step's values and services, and for how long it may.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "belay/events.h"
#include "belay/testing/error_of.h"
#include "belay/testing/hook_driver.h"
#include "tests/sdk/testing/driven_hook.h"

namespace {

using namespace belay::testing;
using belay::Code;
using belay::Graph;
using belay::Output;
using belay::RunArgs;
using belay::RunContext;
using belay::RunValues;
using belay::Session;
using belay::TensorView;

using Texts = std::vector<std::string>;

// Fetches the loss and the step, and keeps what it saw.
class Watcher final : public belay::Hook {
 public:
  void begin(Graph& g) override {
    loss_ = g.fetch("loss");
    step_ = g.global_step();
  }
  RunArgs before_run(RunContext& run) override {
    before = run.session().value(step_);
    return {loss_, step_};
  }
  void after_run(RunContext& run, const RunValues& v) override {
    kept = v[loss_];
    loss = kept.number(0);
    fetched = v[step_];
    after = run.session().value(step_);
  }
  TensorView kept;
  double loss = 0;
  std::int64_t before = 0, fetched = 0, after = 0;

 private:
  Output loss_;
  belay::Fetch<std::int64_t> step_;
};

TEST(HookDriver, TheGlobalStepCountsByItself) {
  Driven<Watcher> d;
  const StepResult result = d.driver->step({{"loss", 1.5f}});
  EXPECT_EQ(result.fetched, (Texts{"loss", "global_step"}));
  EXPECT_EQ(d.hook->before, 0);
  EXPECT_EQ(d.hook->fetched, 0);
  EXPECT_EQ(d.hook->after, 1);
  d.driver->steps_per_run(10);
  d.driver->step({{"global_step", std::int64_t{50}}});
  EXPECT_EQ(d.hook->fetched, 50);
  EXPECT_EQ(d.hook->after, 60);
  EXPECT_EQ(d.driver->step_number(), 60);
}

TEST(HookDriver, ValuesStayUntilTheyChange) {
  Driven<Watcher> d;
  d.driver->step({{"loss", 1.5f}});
  d.driver->step();
  EXPECT_EQ(d.hook->loss, 1.5);
  d.driver->step({{"loss", 2.5f}});
  EXPECT_EQ(d.hook->loss, 2.5);
}

TEST(HookDriver, AValueMustBeGivenAndFit) {
  Driven<Watcher> d;
  EXPECT_EQ(error_of([&] { d.driver->step(); }),
            "FAILED_PRECONDITION: 'loss' was fetched, but the test gave it no value");
  EXPECT_EQ(error_of([&] {
              d.driver->step({{"loss", 1.5}});
            }),
            "INVALID_ARGUMENT: 'loss' was declared float32 [], the test's value is float64 []");
}

TEST(HookDriver, AViewThatIsKeptShowsNonsense) {
  Driven<Watcher> d;
  d.driver->step({{"loss", 1.5f}});
  EXPECT_EQ(d.hook->loss, 1.5);
  EXPECT_TRUE(std::isnan(d.hook->kept.number(0)));
}

TEST(HookDriver, ValuesAreOverwrittenAlsoWhenAfterRunThrows) {
  class Bad final : public belay::Hook {
   public:
    void begin(Graph& g) override { loss = g.fetch("loss"); }
    RunArgs before_run(RunContext&) override { return {loss}; }
    void after_run(RunContext&, const RunValues& v) override {
      kept = v[loss];
      belay::fail(Code::kDiverged, "too high");
    }
    Output loss;
    TensorView kept;
  };
  Driven<Bad> d;
  EXPECT_EQ(error_of([&] { d.driver->step({{"loss", 1.5f}}); }), "DIVERGED: too high");
  EXPECT_TRUE(std::isnan(d.hook->kept.number(0)));
}

TEST(HookDriver, ASessionThatIsKeptIsABreach) {
  class SessionKeeper final : public belay::Hook {
   public:
    void after_create_session(Session& s) override { kept_ = std::make_unique<Session>(s); }
    void after_run(RunContext&, const RunValues&) override { kept_->graph(); }

   private:
    std::unique_ptr<Session> kept_;
  };
  Driven<SessionKeeper> d;
  EXPECT_EQ(error_of([&] { d.driver->step(); }),
            "FAILED_PRECONDITION: after_run: session.graph was called on a session after the call that gave it");
}

TEST(HookDriver, AThreadThatCallsASessionServiceIsABreach) {
  class Threaded final : public belay::Hook {
   public:
    void after_run(RunContext&, const RunValues&) override {
      std::thread([this] {
        try {
          belay::Events(host()).flush();
        } catch (const belay::Error&) {  // hides what it did
        }
      }).join();
    }
  };
  Driven<Threaded> d;
  EXPECT_EQ(error_of([&] { d.driver->step(); }),
            "FAILED_PRECONDITION: after_run: events.flush was called from a thread of the plugin; it belongs to the "
            "session's thread");
}

}  // namespace
