// SPDX-License-Identifier: Apache-2.0
// The joins of threads that plugins register, and stops that they ask for: watched and named as callbacks are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "belay/testing/error_of.h"
#include "runtime/loader/instance/instance.h"
#include "runtime/platform/threads/coordinator.h"
#include "runtime/session/session_service.h"
#include "tests/loader/plugin_files.h"
#include "tests/platform/fake_clock.h"

namespace belay::runtime {
namespace {

using belay::testing::error_of;
using ::testing::HasSubstr;

// The hook below does this in after_create_session, with its join.
std::int32_t (*join)(void*, std::int64_t, belay_status*) = nullptr;
belay_coordinator* registers_with = nullptr;
std::int32_t stops_with = BELAY_OK;

std::int32_t after_create_session(void*, belay_session*, belay_status* status) {
  const belay_coordinator_api& coordinators = *coordinator_service();
  if (stops_with != BELAY_OK) coordinators.request_stop(registers_with, stops_with, detail::str("enough"));
  if (join == nullptr) return BELAY_OK;
  return coordinators.register_thread(registers_with, detail::str("worker"), join, nullptr, status);
}

class PluginThreads : public ::testing::Test {
 protected:
  PluginThreads() {
    join = nullptr;
    stops_with = BELAY_OK;
    registers_with = to_handle(coordinator.get());
    belay_hook_api table = detail::adopt<detail::Absent::kSkip>(static_cast<const belay_hook_api*>(nullptr));
    table.create = [](const belay_host_api*, belay_host*, const belay_named_value*, std::uint64_t, void** self,
                      belay_status*) {
      *self = &registers_with;
      return std::int32_t{BELAY_OK};
    };
    table.after_create_session = after_create_session;
    plugin.info.kind = PluginKind::kHook;
    plugin.info.name = "uploads";
    plugin.version = "1.0";
    plugin.table = table;
    ResolvedPlugin use;
    use.info = plugin.info;
    use.instance_name = "uploads";
    hook = std::make_unique<PluginInstance>(plugin, use, services, monitor);
  }
  void begin_session() {
    hook->call("after_create_session", &belay_hook_api::after_create_session, static_cast<belay_session*>(nullptr));
  }
  // Returns the error that joining the plugin's thread ends with.
  std::string error_of_joining(std::int32_t (*by)(void*, std::int64_t, belay_status*)) {
    join = by;
    begin_session();
    coordinator->request_stop();
    return error_of(
        [&] { coordinator->join(std::vector<std::shared_ptr<Joinable>>{}, {.stop_grace_period_secs = 0}); });
  }

  RecordingLogger logger;
  FakeClock clock;
  HostServices services{logger, clock, "", 1};
  static inline CallMonitor monitor;
  RegisteredPlugin plugin;
  std::unique_ptr<PluginInstance> hook;
  std::shared_ptr<Coordinator> coordinator = std::make_shared<Coordinator>(clock);
};

const std::string kThread = "thread 'worker': hook \"uploads\" (linked in, 1.0) in join: ";

TEST_F(PluginThreads, T_147_AJoinThatThrowsIsNamed) {
  EXPECT_EQ(error_of_joining([](void*, std::int64_t, belay_status*) -> std::int32_t { throw 3; }),
            "UNKNOWN: " + kThread + "[B2041] it let an exception escape, and is not called any more: int");
}

TEST_F(PluginThreads, T_147_AJoinsCodeThatThereIsNotIsNamed) {
  EXPECT_EQ(error_of_joining([](void*, std::int64_t, belay_status*) { return std::int32_t{12345}; }),
            "INTERNAL: " + kThread + "no message (unknown status code 12345)");
}

// The watchdog, a crash and a signal look at this.
TEST_F(PluginThreads, T_147_AJoinThatIsUnderWayIsSeenAsACallOfItsPlugin) {
  EXPECT_EQ(error_of_joining([](void*, std::int64_t, belay_status*) {
              EXPECT_EQ(std::string(monitor.callback.load()), "join");
              EXPECT_EQ(monitor.instance.load()->name(), "uploads");
              return std::int32_t{BELAY_OK};
            }),
            "");
  EXPECT_EQ(monitor.instance.load(), nullptr);
}

TEST_F(PluginThreads, T_147_AThreadThatStaysIsNamedWithItsPlugin) {
  EXPECT_THAT(
      error_of_joining([](void*, std::int64_t, belay_status*) { return std::int32_t{BELAY_DEADLINE_EXCEEDED}; }),
      HasSubstr("threads still running: 'worker' of hook \"uploads\" (linked in, 1.0)"));
}

TEST_F(PluginThreads, T_147_AStopWithACodeThatThereIsNotIsNamed) {
  stops_with = 777;
  begin_session();
  EXPECT_EQ(error_of([&] { coordinator->raise_requested_exception(); }),
            "INTERNAL: hook \"uploads\" (linked in, 1.0) in request_stop: enough (unknown status code 777)");
}

TEST_F(PluginThreads, T_152_TheReasonOfAStopIsCutOff) {
  const std::string reason(1 << 20, 'x');
  coordinator_service()->request_stop(to_handle(coordinator.get()), BELAY_OK, detail::str(reason));
  EXPECT_EQ(coordinator->stop_reason(), std::string(4096, 'x') + "... (cut off: it has 1048576 bytes)");
}

}  // namespace
}  // namespace belay::runtime
