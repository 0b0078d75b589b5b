// SPDX-License-Identifier: Apache-2.0
#include "runtime/loader/instance/host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "belay/host.h"
#include "belay/testing/error_of.h"
#include "runtime/platform/log/plugin_words.h"
#include "tests/loader/plugin_files.h"
#include "tests/platform/fake_clock.h"

namespace belay::runtime {
namespace {

using belay::testing::error_of;
using ::testing::ElementsAre;

class FailingLogger final : public Logger {
 public:
  void log(LogLevel, std::string_view, std::string_view) override { throw std::runtime_error("no log"); }
  bool enabled(LogLevel) const override { throw std::runtime_error("no log"); }
  bool interactive() const override { throw std::runtime_error("no log"); }
  void status_line(std::string_view) override { throw std::runtime_error("no log"); }
  void set_step(std::int64_t) override {}
  void flush() override {}
};

class HostTest : public ::testing::Test {
 protected:
  RecordingLogger logger;
  FakeClock clock;
  HostServices services{logger, clock, "/runs/x", 7};
};
// An instance of it, as its plugin sees it.
class InstanceHostTest : public HostTest {
 protected:
  InstanceHost instance{services, "losses"};
  const belay::Host host{InstanceHost::api(), instance.raw()};
};

TEST_F(InstanceHostTest, T_153_AHostThatNeverWasIsRefused) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): a plugin's invention
  auto* never = reinterpret_cast<belay_host*>(std::uint64_t{0x1234});
  EXPECT_EQ(InstanceHost::api()->service(never, detail::str("core")), nullptr);
  EXPECT_EQ(host.services().core.mode(never), 0);
  EXPECT_EQ(error_of([&] { InstanceHost::from(never); }),
            "INVALID_ARGUMENT: [B2050] there never was such a belay_host: it is the one of create");
}

TEST(PluginWords, T_153_ACodeWithoutAMessageIsNamed) {
  EXPECT_EQ(std::string(runtime::error_of(BELAY_NOT_FOUND, "").message()), "NOT_FOUND, without a message");
  EXPECT_EQ(std::string(runtime::error_of(777, "").message()), "no message (unknown status code 777)");
}

TEST_F(InstanceHostTest, T_152_ALineOfTheLogIsCutOffAndOneWithoutDataIsSaidToBeThat) {
  const std::string line(1 << 20, 'x');
  host.services().core.log(host.raw(), BELAY_LOG_INFO, detail::str(line));
  host.services().core.log(host.raw(), BELAY_LOG_INFO, {nullptr, 5});
  EXPECT_THAT(logger.lines,
              ElementsAre("info losses: " + std::string(1 << 16, 'x') + "... (cut off: it has 1048576 bytes)",
                          "info losses: (a text of 5 bytes whose data is null)"));
}

TEST_F(InstanceHostTest, OffersTheCoreServiceToTheSdk) {
  clock.advance(1500);
  host.info("hello");
  host.error("oh");
  host.services().core.log(host.raw(), 35, detail::str("odd levels are rounded down"));
  host.log(LogLevel::kDebug, "small");
  EXPECT_THAT(logger.lines, ElementsAre("info losses: hello", "error losses: oh",
                                        "warning losses: odd levels are rounded down", "debug losses: small"));
  EXPECT_FALSE(host.log_enabled(LogLevel::kDebug));
  EXPECT_TRUE(host.log_enabled(LogLevel::kWarning));
  EXPECT_EQ(host.monotonic().count(), clock.monotonic_ns());
  EXPECT_EQ(host.wall_seconds(), static_cast<double>(clock.wall_ns()) * 1e-9);
  EXPECT_EQ(host.run_directory(), "/runs/x");
  EXPECT_EQ(host.instance_name(), "losses");
  EXPECT_EQ(host.seed(), 7u);
  EXPECT_TRUE(host.interactive());
  host.status_line("50 %");
  EXPECT_EQ(logger.status, "50 %");
}

TEST_F(InstanceHostTest, B_12a_SaysWhatTheSessionIsForAndWhichProcessThisIs) {
  EXPECT_EQ(host.mode(), std::nullopt);
  services.set_mode(BELAY_MODE_EVAL);
  EXPECT_EQ(host.mode(), Mode::kEval);
  EXPECT_EQ(host.rank(), 0);
  EXPECT_EQ(host.ranks(), 1);
  EXPECT_TRUE(host.is_chief());
  services.set_place({.rank = 1, .size = 3});
  EXPECT_EQ(host.rank(), 1);
  EXPECT_EQ(host.ranks(), 3);
  EXPECT_FALSE(host.is_chief());
}

TEST_F(HostTest, B_10a_ALogLineAfterDestroyIsAWarningAndTheHandleStaysValid) {
  auto instance = std::make_unique<InstanceHost>(services, "losses");
  belay_host* const raw = instance->raw();
  const belay::Host host(InstanceHost::api(), raw);
  instance.reset();
  host.info("too late");
  EXPECT_EQ(host.run_directory(), "");
  EXPECT_EQ(host.seed(), 0u);
  EXPECT_TRUE(host.stopping());
  host.info("once more");
  EXPECT_THAT(logger.lines,
              ElementsAre("warning losses: it calls its host after its destroy, from a thread that still runs; such "
                          "calls do nothing. The destructor has to join the plugin's threads"));
  EXPECT_EQ(error_of([&] { InstanceHost::from(raw); }), "FAILED_PRECONDITION: [B2050] 'losses' has been destroyed");
  const InstanceHost another(services, "accuracies");  // in its place
  EXPECT_NE(another.raw(), raw);
  EXPECT_EQ(host.instance_name(), "");
  EXPECT_EQ(error_of([&] { InstanceHost::from(raw); }),
            "FAILED_PRECONDITION: [B2050] 'an instance that has ended' has been destroyed");
}

// Each call sees an instance that is there to its end, or none.
TEST_F(HostTest, B_10b_AThreadMayLogWhileItsInstanceIsDestroyed) {
  for (int times = 0; times < 50; ++times) {
    auto instance = std::make_unique<InstanceHost>(services, "losses");
    const belay::Host host(InstanceHost::api(), instance->raw());
    std::atomic<bool> calls{false}, over{false};
    std::thread thread([&] {
      while (!over) {
        host.log_enabled(LogLevel::kInfo);
        host.seed();
        calls = true;
      }
    });
    while (!calls) std::this_thread::yield();
    instance.reset();
    over = true;
    thread.join();
  }
}

TEST_F(InstanceHostTest, B_11a_AnInstanceAsksWhetherItIsToStop) {
  EXPECT_FALSE(host.stopping());
  bool run_is_stopping = true;
  services.set_stopping([&] { return run_is_stopping; });
  EXPECT_TRUE(host.stopping());
  run_is_stopping = false;
  EXPECT_FALSE(host.stopping());
  instance.set_stopping(true);  // the session that it feeds
  EXPECT_TRUE(host.stopping());
}

TEST_F(InstanceHostTest, T_171_AWaitForADiskIsCountedUntilItEnds) {
  { const Host::DiskCall nobody_asks(host); }
  DiskCalls calls;
  services.set_disk(&calls);
  {
    const Host::DiskCall outer(host);
    const Host::DiskCall inner(host);
    EXPECT_EQ(calls.begun, 2u);
    EXPECT_EQ(calls.ended, 0u);
  }
  EXPECT_EQ(calls.ended, 2u);
  host.services().core.waits_for_disk(host.raw(), 0);  // without a beginning
  EXPECT_EQ(calls.begun, 2u);
  EXPECT_EQ(calls.ended, 2u);
}

TEST_F(HostTest, T_171_AWaitForADiskEndsWithItsInstance) {
  DiskCalls calls;
  services.set_disk(&calls);
  auto instance = std::make_unique<InstanceHost>(services, "losses");
  const belay::Host host(InstanceHost::api(), instance->raw());
  host.services().core.waits_for_disk(host.raw(), 1);
  EXPECT_EQ(calls.ended, 0u);
  instance.reset();
  EXPECT_EQ(calls.begun, 1u);
  EXPECT_EQ(calls.ended, 1u);
}

TEST_F(InstanceHostTest, B_12d_AnAttemptIsTheFirstUnlessTheRunSaysOtherwise) {
  EXPECT_EQ(host.attempt(), 1);
  std::int64_t attempt = 1;
  services.set_attempt(&attempt);
  attempt = 3;
  EXPECT_EQ(host.attempt(), 3);
}

TEST(Host, NothingThatALoggerThrowsReachesThePlugin) {
  FailingLogger logger;
  FakeClock clock;
  HostServices services(logger, clock, "", 0);
  InstanceHost instance(services, "x");
  const belay::Host host(InstanceHost::api(), instance.raw());
  host.info("lost");
  host.status_line("lost");
  EXPECT_FALSE(host.log_enabled(LogLevel::kError));
  EXPECT_FALSE(host.interactive());
}

std::int32_t flush_events(belay_host* host, belay_status*) {
  ++InstanceHost::from(host).services().context<int>();
  return BELAY_OK;
}

TEST(Host, AServiceFindsItsContextByType) {
  RecordingLogger logger;
  FakeClock clock;
  HostServices services(logger, clock, "", 0);
  belay_events_api events{};
  events.struct_size = sizeof(events);
  events.flush = &flush_events;
  services.add("events", &events);
  int flushed = 0;
  double other = 0;
  services.set_context(&flushed);
  services.set_context(&other);
  InstanceHost instance(services, "x");
  const belay::Host host(InstanceHost::api(), instance.raw());
  detail::Status status;
  status.check(host.services().events.flush(host.raw(), status));
  EXPECT_EQ(flushed, 1);
  EXPECT_EQ(&services.context<double>(), &other);
}

TEST(Host, AServiceThatItHasNotIsMissingByName) {
  RecordingLogger logger;
  FakeClock clock;
  HostServices services(logger, clock, "", 0);
  InstanceHost instance(services, "x");
  const belay::Host host(InstanceHost::api(), instance.raw());
  detail::Status status;
  EXPECT_EQ(host.services().events.flush(host.raw(), status), BELAY_UNIMPLEMENTED);
  EXPECT_EQ(status.message(), "the other side offers no 'events.flush'");
}

TEST(Host, AContextThatIsNotThereIsAnErrorAndMayComeAndGo) {
  RecordingLogger logger;
  FakeClock clock;
  HostServices services(logger, clock, "", 0);
  const auto use = [&] { services.context<int>(); };
  EXPECT_EQ(error_of(use), "FAILED_PRECONDITION: [B2050] this service works only while a session exists");
  int session = 0;
  services.set_context(&session);
  EXPECT_EQ(error_of(use), "");
  services.set_context<int>(nullptr);
  EXPECT_EQ(error_of(use), "FAILED_PRECONDITION: [B2050] this service works only while a session exists");
}

TEST(Host, AServiceIsAddedOnce) {
  RecordingLogger logger;
  FakeClock clock;
  HostServices services(logger, clock, "", 0);
  const int table = 0;
  EXPECT_EQ(error_of([&] { services.add("core", &table); }), "ALREADY_EXISTS: [B2050] service \"core\" is added twice");
  EXPECT_EQ(services.find("graph"), nullptr);
}

}  // namespace
}  // namespace belay::runtime
