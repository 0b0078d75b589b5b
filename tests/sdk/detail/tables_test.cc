// SPDX-License-Identifier: Apache-2.0
#include "belay/detail/tables.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace {

using belay::detail::Absent;
using belay::detail::adopt;
using belay::detail::Status;

std::int32_t begin_that_fails(void*, belay_graph*, belay_status* status) {
  return belay::detail::report(status, BELAY_ABORTED, "called");
}
std::int32_t load_that_fails(void*, belay_state*, belay_status* status) {
  return belay::detail::report(status, BELAY_ABORTED, "called");
}

template <class F>
std::string reported(F&& f) {
  Status status;
  const std::int32_t code = f(static_cast<belay_status*>(status));
  return std::to_string(code) + ": " + std::string(status.message());
}

TEST(Tables, SlotsThatAreThereAreTaken) {
  belay_hook_api given{};
  given.struct_size = sizeof(given);
  given.begin = begin_that_fails;
  const belay_hook_api adopted = adopt(&given);
  EXPECT_EQ(adopted.begin, &begin_that_fails);
  EXPECT_EQ(adopted.struct_size, sizeof(belay_hook_api));
}

TEST(Tables, ANullSlotSaysWhatIsMissing) {
  belay_hook_api given{};
  given.struct_size = sizeof(given);
  const belay_hook_api adopted = adopt(&given);
  EXPECT_EQ(reported([&](belay_status* s) { return adopted.begin(nullptr, nullptr, s); }),
            "12: the other side offers no 'hook.begin'");
}

TEST(Tables, OrItIsSkipped) {
  belay_hook_api given{};
  given.struct_size = sizeof(given);
  const belay_hook_api adopted = adopt<Absent::kSkip>(&given);
  EXPECT_EQ(reported([&](belay_status* s) { return adopted.begin(nullptr, nullptr, s); }), "0: ");
  adopted.destroy(nullptr);
}

TEST(Tables, ATableThatIsNotThereIsAllStubs) {
  const belay_core_api core = adopt(static_cast<const belay_core_api*>(nullptr));
  core.log(nullptr, BELAY_LOG_INFO, {nullptr, 0});
  EXPECT_EQ(core.monotonic_ns(nullptr), 0);
  EXPECT_EQ(core.run_directory(nullptr).size, 0u);
  const belay_events_api events = adopt(static_cast<const belay_events_api*>(nullptr));
  EXPECT_EQ(reported([&](belay_status* s) { return events.flush(nullptr, s); }),
            "12: the other side offers no 'events.flush'");
}

// A shorter table is an older one: slots beyond its end are absent, also one that it has only a part of.
TEST(Tables, AShortTableIsTakenSlotBySlot) {
  belay_hook_api given{};
  given.begin = begin_that_fails;
  given.load_state = load_that_fails;
  const auto last = static_cast<std::uint32_t>(offsetof(belay_hook_api, load_state));
  for (const auto& [size, taken] : {std::pair{last + 8, true}, {last + 7, false}, {last, false}, {0u, false}}) {
    given.struct_size = size;
    const belay_hook_api adopted = adopt<Absent::kSkip>(&given);
    EXPECT_EQ(adopted.load_state == &load_that_fails, taken) << size;
    EXPECT_EQ(adopted.begin == &begin_that_fails, size >= offsetof(belay_hook_api, begin) + 8) << size;
  }
}

TEST(Tables, ALongerTableIsReadAsFarAsItIsKnown) {
  struct Longer {
    belay_hook_api known;
    void (*later)();
  } given{};
  std::memset(&given, 0xff, sizeof(given));
  given.known = belay_hook_api{};
  given.known.struct_size = sizeof(given);
  given.known.begin = begin_that_fails;
  EXPECT_EQ(adopt(&given.known).begin, &begin_that_fails);
}

}  // namespace
