// SPDX-License-Identifier: Apache-2.0
// An error of a run has these effects on a MonitoredSession, by its place and code: the table in section 1 of the
// contract.
#include <memory>
#include <string>
#include <tuple>

#include "tests/monitored/counting_session.h"

namespace belay::runtime::testing {
namespace {

// Who fails in the second run, and with what.
struct Failure {
  const char* callback;  // of hook "y"; "run": the raw run itself
  Code code;
};

class FailingRunTest : public CountingSessionTest {
 protected:
  // Hooks x, y, z; y, or the run after its before_run, fails once.
  void open_failing(const Failure& failure) {
    add_probe("x");
    Probe& y = add_probe("y");
    add_probe("z");
    const bool raw = std::string(failure.callback) == "run";
    y.in[raw ? "before_run" : failure.callback] = [this, failure, raw, left = 2]() mutable {
      if (--left != 0) return;
      if (raw) return session().interrupt(Error(failure.code, "failed"));
      fail(failure.code, "failed");
    };
    open();
    train();
    new_events();
  }
};

Timeline events_until(const std::string& callback) {
  const Timeline before{"x.before_run", "y.before_run"};
  Timeline after{"x.before_run", "y.before_run", "z.before_run"};
  if (callback == "before_run") return before;
  if (callback == "after_run") after.insert(after.end(), {"x.after_run", "y.after_run"});
  return after;
}

const char* const kPlaces[] = {"before_run", "run", "after_run"};

class PreemptedRun : public FailingRunTest, public ::testing::WithParamInterface<std::tuple<const char*, Code>> {};

TEST_P(PreemptedRun, PROSE_01_IsRepeatedOnANewSessionAndTheCallerSeesNothing) {
  const auto [callback, code] = GetParam();
  open_failing({callback, code});
  const std::shared_ptr<DirectSession> old = session().raw_session();
  EXPECT_EQ(train(), 1);  // without a checkpoint it starts from scratch
  Timeline expected = events_until(callback);
  for (const char* what : {"after_create_session", "before_run", "after_run"})
    for (const char* who : {"x.", "y.", "z."}) expected.push_back(std::string(who) + what);
  EXPECT_EQ(new_events(), expected);
  EXPECT_TRUE(old->closed());
  EXPECT_NE(session().raw_session(), old);
  EXPECT_FALSE(session().should_stop());
  EXPECT_EQ(train(), 2);
  EXPECT_EQ(session().recoveries(), 1);
  session().close();
  EXPECT_EQ(session().recoveries(), 1);
}

INSTANTIATE_TEST_SUITE_P(Matrix, PreemptedRun,
                         ::testing::Combine(::testing::ValuesIn(kPlaces),
                                            ::testing::Values(Code::kAborted, Code::kUnavailable)));

class EndOfInput : public FailingRunTest, public ::testing::WithParamInterface<std::tuple<const char*, Code>> {};

TEST_P(EndOfInput, HOOK_05_EndsTheScopeCleanlyWithEnd) {
  const auto [callback, code] = GetParam();
  open_failing({callback, code});
  bool behind = false;
  session().scope([&] {
    train();
    behind = true;
  });
  EXPECT_FALSE(behind);
  Timeline expected = events_until(callback);
  expected.insert(expected.end(), {"x.end", "y.end", "z.end"});
  EXPECT_EQ(new_events(), expected);
  EXPECT_TRUE(session().should_stop());
  EXPECT_EQ(session().end_reason().kind,
            code == Code::kStop ? EndReason::Kind::kStopRequested : EndReason::Kind::kEndOfInput);
  EXPECT_EQ(session().end_reason().text, std::string(callback) == "run"
                                             ? "failed"
                                             : "hook \"y\" in " + std::string(callback) + " at step 2: failed");
}

INSTANTIATE_TEST_SUITE_P(Graph, EndOfInput,
                         ::testing::Combine(::testing::Values("run"), ::testing::Values(Code::kOutOfRange)));
INSTANTIATE_TEST_SUITE_P(Stop, EndOfInput,
                         ::testing::Combine(::testing::ValuesIn(kPlaces), ::testing::Values(Code::kStop)));

// For example, a hook hands on the host's own code. The training is not done.
class EndOfNoInput : public FailingRunTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(EndOfNoInput, T_141_AnOutOfRangeOfAHookIsAnErrorWithOnErrorAndWithoutEnd) {
  open_failing({GetParam(), Code::kOutOfRange});
  EXPECT_EQ(
      error_of([&] { session().scope([&] { train(); }); }),
      "FAILED_PRECONDITION: hook \"y\" in " + std::string(GetParam()) +
          " at step 2: failed (OUT_OF_RANGE ends no run from here: only an input's next ends one with it; a value "
          "that is out of its range is INVALID_ARGUMENT)");
  Timeline expected = events_until(GetParam());
  expected.insert(expected.end(), {"x.on_error", "y.on_error", "z.on_error"});
  EXPECT_EQ(new_events(), expected);
  EXPECT_EQ(session().end_reason().kind, EndReason::Kind::kError);
}

INSTANTIATE_TEST_SUITE_P(Matrix, EndOfNoInput, ::testing::Values("before_run", "after_run"));

class OtherError : public FailingRunTest, public ::testing::WithParamInterface<std::tuple<const char*, Code>> {};

TEST_P(OtherError, HOOK_05_LeavesTheScopeWithOnErrorAndWithoutEnd) {
  const auto [callback, code] = GetParam();
  open_failing({callback, code});
  const std::shared_ptr<DirectSession> raw = session().raw_session();
  const bool in_run = std::string(callback) == "run";
  const std::string text = !in_run                   ? "hook \"y\" in " + std::string(callback) + " at step 2: failed"
                           : code == Code::kDiverged ? "[B5043] failed, in step 2"
                                                     : "failed";
  EXPECT_EQ(error_of([&] { session().scope([&] { train(); }); }), std::string(code_name(code)) + ": " + text);
  Timeline expected = events_until(callback);
  expected.insert(expected.end(), {"x.on_error", "y.on_error", "z.on_error"});
  EXPECT_EQ(new_events(), expected);
  EXPECT_TRUE(session().closed());
  EXPECT_TRUE(session().should_stop());
  EXPECT_TRUE(raw->closed());
  EXPECT_FALSE(graph.finalized());
  EXPECT_EQ(session().end_reason().kind, EndReason::Kind::kError);
  EXPECT_EQ(session().end_reason().text, text);
  EXPECT_EQ(session().recoveries(), 0);
}

INSTANTIATE_TEST_SUITE_P(Matrix, OtherError,
                         ::testing::Combine(::testing::ValuesIn(kPlaces),
                                            ::testing::Values(Code::kInternal, Code::kCancelled, Code::kDiverged,
                                                              Code::kDeadlineExceeded)));

}  // namespace
}  // namespace belay::runtime::testing
