// SPDX-License-Identifier: Apache-2.0
#include "belay/error.h"

#include <gtest/gtest.h>

#include <functional>
#include <new>
#include <set>
#include <stdexcept>
#include <string>

#include "belay/testing/error_of.h"

namespace {

using belay::Code;
using belay::detail::guard;
using belay::detail::Status;

struct NullWhat : std::exception {
  const char* what() const noexcept override { return nullptr; }
};

// Returns the report of a callback that runs f: "code: message".
std::string reported(const std::function<void()>& f) {
  Status status;
  const std::int32_t code = guard(status, f);
  return std::to_string(code) + ": " + std::string(status.message());
}

TEST(Error, EveryExceptionBecomesACodeAndAText) {
  struct Case {
    std::function<void()> f;
    const char* reported;
  };
  const std::string long_text(10000, 'x');
  for (const Case& c : {
           Case{[] {}, "0: "},
           Case{[] { belay::fail(Code::kNotFound, "no such thing"); }, "5: no such thing"},
           Case{[] { throw belay::Error(Code::kStop, ""); }, "100: "},
           Case{[] { throw belay::Error(Code::kOk, "not meant"); }, "2: not meant"},
           Case{[] { throw belay::Error(static_cast<Code>(4242), "own code"); }, "4242: own code"},
           Case{[] { throw std::bad_alloc(); }, "8: out of memory"},
           Case{[] { throw std::invalid_argument("alpha"); }, "3: alpha"},
           Case{[] { throw std::runtime_error("beta"); }, "2: beta"},
           Case{[] { throw std::out_of_range("gamma"); }, "2: gamma"},
           Case{[] { throw NullWhat(); }, "2: an exception without a message"},
           Case{[] { throw 42; }, "2: unknown exception type"},
           Case{[] { throw "text"; }, "2: unknown exception type"},
           Case{[] { throw std::string("text"); }, "2: unknown exception type"},
           Case{[] { throw std::runtime_error(std::string("a\0b", 3)); }, "2: a"},
       })
    EXPECT_EQ(reported(c.f), c.reported);
}

TEST(Error, ALongTextIsCutToTheBuffer) {
  Status status;
  guard(status, [] { belay::fail(Code::kInternal, std::string(1 << 20, 'x')); });
  EXPECT_EQ(status.message(), std::string(4096, 'x'));
}

TEST(Error, B_16_ASizeBeyondTheBufferIsNotFollowed) {
  Status status;
  belay_status* raw = status;
  raw->size = raw->capacity + 1;
  EXPECT_EQ(status.message(), "no message (its message claims more bytes than there is room for)");
  raw->size = raw->capacity;
  EXPECT_EQ(status.message().size(), raw->capacity);
}

TEST(Error, T_153_ATextThatWasReplacedIsNotRead) {
  Status status;
  belay_status* raw = status;
  char own[] = "mine";
  raw->text = own;
  raw->size = 4;
  EXPECT_EQ(status.message(), "no message (it replaced the status's text, whose memory is the caller's)");
}

TEST(Error, ACallerMayLeaveOutTheBuffer) {
  EXPECT_EQ(guard(nullptr, [] { belay::fail(Code::kAborted, "text"); }), BELAY_ABORTED);
  belay_status none{nullptr, 100, 0};
  EXPECT_EQ(guard(&none, [] { belay::fail(Code::kAborted, "text"); }), BELAY_ABORTED);
  EXPECT_EQ(none.size, 0u);
}

TEST(Error, ACodeBecomesAnExceptionAtTheCaller) {
  Status status;
  EXPECT_NO_THROW(status.check(BELAY_OK));
  const std::int32_t code = guard(status, [] { belay::fail(Code::kDataLoss, "torn"); });
  EXPECT_EQ(belay::testing::error_of([&] { status.check(code); }), "DATA_LOSS: torn");
}

TEST(Error, CodesHaveTheirGrpcNames) {
  std::set<std::string> names;
  for (int code = BELAY_OK; code <= BELAY_UNAUTHENTICATED; ++code)
    names.insert(belay::code_name(static_cast<Code>(code)));
  names.insert(belay::code_name(Code::kStop));
  names.insert(belay::code_name(Code::kDiverged));
  names.insert(belay::code_name(Code::kSkip));
  EXPECT_EQ(names.size(), 20u);
  EXPECT_STREQ(belay::code_name(Code::kInvalidArgument), "INVALID_ARGUMENT");
  EXPECT_STREQ(belay::code_name(static_cast<Code>(77)), "INTERNAL");
}

TEST(Error, ErrorOfTellsForeignExceptionsApart) {
  using belay::testing::error_of;
  EXPECT_EQ(error_of([] {}), "");
  EXPECT_EQ(error_of([] { throw std::runtime_error("x"); }), "exception: x");
}

}  // namespace
