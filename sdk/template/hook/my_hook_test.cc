// Drives the hook without an engine. It runs twice: with the hook linked in, and with the .so.
#include <belay/testing/testing.h>
#include <gtest/gtest.h>

extern "C" const belay_module belay_module_my_hook;

namespace {

using namespace belay::testing;

const belay_module& module() { return module_under_test(belay_module_my_hook); }

TEST(MyHook, StopsWhenTheTensorStaysAboveTheLimit) {
  HookDriver hook(module(), {{"max", 2.0}, {"patience", 2}});
  hook.tensor<float>("loss");  // what the model has
  hook.begin();
  hook.create_session();
  EXPECT_FALSE(hook.step({{"loss", 2.5f}}).stop_asked);
  EXPECT_FALSE(hook.step({{"loss", 1.5f}}).stop_asked);  // below: counting begins anew
  EXPECT_FALSE(hook.step({{"loss", 2.5f}}).stop_asked);
  EXPECT_EQ(hook.step({{"loss", 3.0f}}).stop_reason, "loss stayed above 2.000000");
  hook.end();
}

TEST(MyHook, CountsOnAfterARestart) {
  HookDriver before(module(), {{"max", 2.0}, {"patience", 2}});
  before.tensor<float>("loss");
  before.begin();
  before.create_session();
  before.step({{"loss", 2.5f}});

  HookDriver after(module(), {{"max", 2.0}, {"patience", 2}});
  after.tensor<float>("loss");
  after.begin();
  after.load_state(before.save_state());
  after.create_session();
  EXPECT_TRUE(after.step({{"loss", 2.5f}}).stop_asked);
}

TEST(MyHook, RefusesWhatItCannotUse) {
  EXPECT_EQ(error_of([] {
              HookDriver hook(module(), {{"patience", 0}});
            }),
            "INVALID_ARGUMENT: 'patience' is 0, must be >= 1");
  HookDriver hook(module(), {{"tensor", "los"}});
  hook.tensor<float>("loss");
  EXPECT_EQ(error_of([&] { hook.begin(); }), "NOT_FOUND: the graph has no 'los'; did you mean 'loss'?");
}

TEST(MyHook, BeginTwiceLeavesTheGraphAsItWas) {
  HookDriver hook(module());
  hook.tensor<float>("loss");
  hook.begin();
  hook.begin_again();
}

}  // namespace
