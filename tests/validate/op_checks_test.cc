// SPDX-License-Identifier: Apache-2.0
// The findings of belay validate in an operation that breaks one rule.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/validate/validate.h"

namespace belay::runtime {
namespace {

// The checks that did not pass: "drive.runs: failed: message".
std::vector<std::string> troubles(const std::string& flaw) {
  std::vector<std::string> found;
  validate(BELAY_FLAWED_OP, {.sets = {"flaw=" + flaw}, .seconds = 60}, [&](const CheckResult& r) {
    if (r.verdict != Verdict::kPassed) found.push_back(r.check + ": " + verdict_name(r.verdict) + ": " + r.text);
  });
  return found;
}

TEST(OpChecks, AnOperationWithoutAFlawPasses) { EXPECT_EQ(troubles("none"), std::vector<std::string>{}); }

TEST(OpChecks, EachFlawFailsItsCheck) {
  const struct {
    const char* flaw;
    const char* expected;  // of the first check that did not pass
  } cases[] = {
    {"takes nothing",
     "drive.shapes: skipped: its shape rule takes none of the synthetic inputs: INVALID_ARGUMENT: input 0 (float16 [2, "
     "3, "
     "4, 4]) must be float32; give its attributes with --set"},
    {"guesses shapes",
     "drive.shapes: failed: infer returns float32 [1, 2, 3] for float32 [...], but float32 [3, 5] for float32 [3, 5]"},
    {"wants to know",
     "drive.shapes: failed: infer of float32 [...], when it takes float32 [3, 5], failed: INVALID_ARGUMENT: no rank, "
     "no node"},
    {"writes behind",
     "drive.runs: failed: run on float32 [3, 5] with 1 thread failed: FAILED_PRECONDITION: run wrote past the end of "
     "output 0"},
    {"leaves one out",
     "drive.runs: failed: run on float32 [3, 5] with 1 thread failed: FAILED_PRECONDITION: run gave other bits when it "
     "was called again: it leaves elements unset, reads what was in the output, or keeps something from run to run"},
    {"counts its runs",
     "drive.runs: failed: run on float32 [3, 5] with 1 thread failed: FAILED_PRECONDITION: run gave other bits when it "
     "was called again: it leaves elements unset, reads what was in the output, or keeps something from run to run"},
    {"writes to its input",
     "drive.runs: failed: run on float32 [3, 5] with 1 thread failed: FAILED_PRECONDITION: run wrote to input 0"},
    {"is not in place",
     "drive.runs: failed: run on float32 [3, 5] with 1 thread failed: FAILED_PRECONDITION: run gave other bits when "
     "output 0 lay in the memory of input 0, as its traits allow"},
    {"fails with two threads",
     "drive.runs: failed: run on float32 [3, 5] with 2 threads failed: INTERNAL: one too many"},
    {"wrong gradient", "drive.gradients: failed: the gradient for float32 [3, 5] differs from finite differences by "},
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they end a crash in a different way
    {"crashes at nothing", "drive.runs: failed: crashed with signal 8 (Floating point exception)"},
    {"crashes at rank 6", "drive.odd_inputs: failed: crashed with signal 11 (Segmentation fault)"},
#endif
  };
  for (const auto& c : cases) {
    const std::vector<std::string> found = troubles(c.flaw);
    ASSERT_FALSE(found.empty()) << c.flaw;
    EXPECT_EQ(found[0].substr(0, std::string(c.expected).size()), c.expected) << c.flaw;
  }
}

}  // namespace
}  // namespace belay::runtime
