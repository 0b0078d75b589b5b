// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>

#include "belay/testing/allocations.h"
#include "belay/testing/temporary_folder.h"
#include "belay/testing/testing.h"

extern "C" const belay_module belay_module_stop_file;

namespace stop_file_test {

using namespace belay::testing;

const belay_module& module() { return module_under_test(belay_module_stop_file); }

class StopFile : public ::testing::Test {
 protected:
  HookDriver& started(const OptionValues& options = {}) {
    DriverSetup setup;
    setup.run_directory = folder_.path();
    hook_ = std::make_unique<HookDriver>(module(), options, setup);
    hook_->begin();
    hook_->create_session();
    return *hook_;
  }
  std::string path(const std::string& name = "STOP") const { return folder_.path() + "/" + name; }
  void touch(const std::string& name = "STOP") const { std::ofstream file(path(name)); }

  TemporaryFolder folder_;
  std::unique_ptr<HookDriver> hook_;
};

TEST_F(StopFile, StopsAtTheNextLookAndRemovesTheFileAtTheEnd) {
  HookDriver& hook = started({{"every_n_steps", 2}});
  hook.step();
  touch();
  EXPECT_EQ(hook.step().stop_reason, "there is '" + path() + "'");
  EXPECT_TRUE(std::filesystem::exists(path()));
  hook.end();
  EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(StopFile, LooksEveryNthRun) {
  HookDriver& hook = started({{"every_n_steps", 3}, {"file_name", std::string("halt")}});
  touch("halt");
  EXPECT_FALSE(hook.step().stop_asked);
  EXPECT_FALSE(hook.step().stop_asked);
  EXPECT_TRUE(hook.step().stop_asked);
}

TEST_F(StopFile, OneThatIsThereFromTheStartStopsBeforeTheFirstStep) {
  touch();
  EXPECT_TRUE(started().stop_asked());
}

TEST_F(StopFile, CanBeLeft) {
  touch();
  HookDriver& hook = started({{"remove", false}});
  hook.end();
  EXPECT_TRUE(std::filesystem::exists(path()));
}

TEST_F(StopFile, AnotherStopLeavesTheFileAlone) {
  HookDriver& hook = started();
  hook.step();
  touch();
  hook.end();
  EXPECT_TRUE(std::filesystem::exists(path()));
}

TEST_F(StopFile, RefusesAPathAndARunWithoutADirectory) {
  EXPECT_EQ(error_of([&] {
              started({{"file_name", std::string("/tmp/STOP")}});
            }),
            "INVALID_ARGUMENT: 'file_name' is '/tmp/STOP'; give a name without '/'");
  EXPECT_EQ(error_of([] { HookDriver hook(module(), {}, {.run_directory = ""}); }),
            "INVALID_ARGUMENT: stop_file needs the run directory, and this run has none; set [run] dir");
}

TEST_F(StopFile, AllocatesNothing) {
  HookDriver& hook = started({{"every_n_steps", 1}});
  hook.probe_with(allocations);
  for (int i = 0; i < 10; ++i) ASSERT_EQ(hook.step().probed, 0u);
}

}  // namespace stop_file_test
