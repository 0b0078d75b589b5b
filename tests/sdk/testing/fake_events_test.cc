// SPDX-License-Identifier: Apache-2.0
#include "belay/testing/fake_events.h"

#include <gtest/gtest.h>

#include <thread>

#include "belay/events.h"
#include "belay/testing/error_of.h"

namespace {

using belay::testing::error_of;
using belay::testing::FakeEvents;
using belay::testing::FakeHost;
using belay::testing::WrittenScalar;

struct EventsFixture {
  explicit EventsFixture(std::string directory = "/runs/x") { host.run_directory = std::move(directory); }
  FakeHost host;
  FakeEvents fake{host};
  belay::Host services{host.api(), host.raw()};
  belay::Events events{services};
};

TEST(FakeEvents, KeepsWhatIsWrittenInOrder) {
  EventsFixture f;
  f.events.session_start(1);
  f.events.scalar("loss", 1, 0.5);
  f.events.summary(std::string_view("a\0b", 3), 2);
  f.events.flush();
  EXPECT_EQ(f.fake.scalars(), (std::vector<WrittenScalar>{{"loss", 1, 0.5}}));
  EXPECT_EQ(f.fake.summaries()[0].bytes, std::string("a\0b", 3));
  EXPECT_EQ(f.fake.session_logs()[0].kind, BELAY_SESSION_START);
  EXPECT_EQ(f.fake.order(), (std::vector<std::string>{"start@1", "scalar loss@1", "summary@2", "flush"}));
}

TEST(FakeEvents, WithoutARunDirectoryNothingIsWritten) {
  EventsFixture f("");
  f.events.scalar("loss", 1, 0.5);
  f.events.flush();
  EXPECT_TRUE(f.fake.order().empty());
}

TEST(FakeEvents, AnUnknownSessionLogIsRefused) {
  EventsFixture f;
  belay::detail::Status status;
  const auto& api = f.services.services().events;
  EXPECT_EQ(api.session_log(f.host.raw(), 9, 1, {nullptr, 0}, status), BELAY_INVALID_ARGUMENT);
  EXPECT_EQ(status.message(), "there is no session log kind 9");
}

TEST(FakeEvents, BelongsToOneThread) {
  EventsFixture f;
  std::string error;
  std::thread([&] { error = error_of([&] { f.events.scalar("loss", 1, 0.5); }); }).join();
  EXPECT_EQ(error,
            "FAILED_PRECONDITION: events.scalar was called from a thread of the plugin; it belongs to the session's "
            "thread");
  EXPECT_TRUE(f.fake.scalars().empty());
}

}  // namespace
