// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "belay/testing/allocations.h"
#include "belay/testing/temporary_folder.h"
#include "belay/testing/testing.h"
#include "plugins/hooks/system_metrics/proc_status.h"

extern "C" const belay_module belay_module_system_metrics;

namespace system_metrics_test {

using namespace belay::testing;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

const belay_module& module() { return module_under_test(belay_module_system_metrics); }

class SystemMetrics : public ::testing::Test {
 protected:
  HookDriver& started(const OptionValues& options, const StoredState* state = nullptr, std::int64_t step = 0) {
    DriverSetup setup;
    setup.run_directory = folder_.path();
    hook_ = std::make_unique<HookDriver>(module(), options, setup);
    hook_->global_step(step);
    hook_->begin();
    if (state != nullptr) hook_->load_state(*state);
    hook_->create_session();
    return *hook_;
  }
  double value(const std::string& tag, std::int64_t step) const {
    for (const WrittenScalar& s : hook_->events().scalars())
      if (s.tag == "system/" + tag && s.step == step) return s.value;
    ADD_FAILURE() << tag << " was not written at step " << step;
    return 0;
  }

  TemporaryFolder folder_;
  std::unique_ptr<HookDriver> hook_;
};

TEST_F(SystemMetrics, WritesWhatTheMachineSays) {
  HookDriver& hook = started({{"every_n_steps", 2}, {"log", true}});
  hook.host().clock.advance(1);
  EXPECT_THAT(hook.step().logged.at(0), HasSubstr("rss_mb = "));
  std::vector<std::string> tags;
  for (const WrittenScalar& s : hook.events().scalars()) tags.push_back(s.tag);
  EXPECT_THAT(tags, UnorderedElementsAre("system/cpus_busy", "system/rss_mb", "system/peak_rss_mb", "system/threads",
                                         "system/load", "system/disk_free_gb"));
  EXPECT_GT(value("rss_mb", 1), 1);
  EXPECT_GE(value("peak_rss_mb", 1), value("rss_mb", 1));
  EXPECT_GE(value("threads", 1), 1);
  EXPECT_GT(value("disk_free_gb", 1), 0);
}

// The process has used some processor time by now. The fake clock sets how long that took.
TEST_F(SystemMetrics, ProcessorTimeIsThatSinceTheLastTime) {
  HookDriver& hook = started({{"every_n_steps", 1}});
  hook.host().clock.advance(1e6);
  hook.step();
  EXPECT_LT(value("cpus_busy", 1), 0.01);
}

TEST_F(SystemMetrics, EveryNSeconds) {
  HookDriver& hook = started({{"every_n_secs", 2.0}});
  hook.step();
  for (int i = 0; i < 4; ++i) {
    hook.host().clock.advance(1);
    hook.step();
  }
  value("rss_mb", 1), value("rss_mb", 3), value("rss_mb", 5);
  EXPECT_EQ(hook.events().scalars().size(), 18u);
}

TEST_F(SystemMetrics, AResumedRunKeepsTheRhythm) {
  HookDriver& before = started({{"every_n_steps", 4}});
  for (int i = 0; i < 3; ++i) before.step();
  const StoredState state = before.save_state();
  HookDriver& after = started({{"every_n_steps", 4}}, &state, 3);
  for (int i = 0; i < 3; ++i) after.step();
  value("rss_mb", 5);
  EXPECT_EQ(after.events().scalars().size(), 6u);
}

TEST_F(SystemMetrics, BetweenTwoLooksItAllocatesNothing) {
  HookDriver& hook = started({});
  hook.step();
  hook.step();
  hook.probe_with(allocations);
  for (int i = 0; i < 10; ++i) ASSERT_EQ(hook.step().probed, 0u);
}

TEST(ProcStatus, AFileThatCannotBeReadSaysNothing) {
  const ProcStatus status = read_proc_status("/proc/none/status");
  EXPECT_FALSE(status.rss_bytes || status.peak_rss_bytes || status.threads);
}

}  // namespace system_metrics_test
