// SPDX-License-Identifier: Apache-2.0
#include "belay/testing/fake_host.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace {

using belay::testing::FakeHost;

TEST(FakeHost, KeepsTheLog) {
  FakeHost fake;
  const belay::Host host(fake.api(), fake.raw());
  host.log(belay::LogLevel::kDebug, "a");
  host.info("b");
  host.warning("c");
  host.error("d");
  EXPECT_EQ(fake.logged(), (std::vector<std::string>{"debug: a", "info: b", "warning: c", "error: d"}));
  EXPECT_TRUE(fake.has_logged("warn"));
  fake.clear_log();
  EXPECT_FALSE(fake.has_logged("warn"));
}

TEST(FakeHost, TheClockMovesWhenTold) {
  FakeHost fake;
  const belay::Host host(fake.api(), fake.raw());
  const auto start = host.monotonic();
  const double wall = host.wall_seconds();
  for (int i = 0; i < 10; ++i) fake.clock.advance(0.1);
  EXPECT_EQ(host.monotonic() - start, std::chrono::seconds(1));
  EXPECT_NEAR(host.wall_seconds() - wall, 1, 1e-6);
}

TEST(FakeHost, TellsWhatItIs) {
  FakeHost fake("losses");
  fake.run_directory = "/runs/x";
  fake.seed = 7;
  fake.interactive = true;
  const belay::Host host(fake.api(), fake.raw());
  EXPECT_EQ(host.instance_name(), "losses");
  EXPECT_EQ(host.run_directory(), "/runs/x");
  EXPECT_EQ(host.seed(), 7u);
  EXPECT_TRUE(host.interactive());
  EXPECT_TRUE(host.log_enabled(belay::LogLevel::kDebug));
  host.status_line("50 %");
  EXPECT_EQ(fake.status_lines(), std::vector<std::string>{"50 %"});
}

TEST(FakeHost, AServiceThatIsAbsentIsStubs) {
  FakeHost fake;
  fake.remove_service("core");
  const belay::Host host(fake.api(), fake.raw());
  host.info("not logged");
  EXPECT_EQ(host.instance_name(), "");
  EXPECT_EQ(host.monotonic().count(), 0);
}

TEST(FakeHost, KnowsItsThread) {
  FakeHost fake;
  EXPECT_TRUE(fake.check_thread("x.y"));
  bool same = true;
  std::thread([&] { same = fake.check_thread("x.y"); }).join();
  EXPECT_FALSE(same);
  EXPECT_EQ(fake.breaches(),
            std::vector<std::string>{"x.y was called from a thread of the plugin; it belongs to the session's thread"});
}

}  // namespace
