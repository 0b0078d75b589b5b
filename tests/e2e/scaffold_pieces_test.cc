// SPDX-License-Identifier: Apache-2.0
// Pieces of [scaffold] that would make a run wait for ever, or fail, found before it starts.
#include "tests/e2e/run_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::HasSubstr;

class ScaffoldPieces : public RunTest {
 protected:
  void expect_refused(const std::string& key, const std::string& name, const std::string& why) {
    const std::string line = key + " = \"" + name + "\"";
    const std::string manifest = regression("", "[scaffold]\n" + line + "\n");
    const std::string caret = std::string(2 + key.size() + 3, ' ') + "^" + std::string(name.size() + 1, '~');
    for (const char* command : {"check", "run"}) {
      const ProcessResult r = belay({command, manifest});
      EXPECT_EQ(r.status, 2) << command << " " << line << "\n" << r.err;
      EXPECT_THAT(told(r), HasSubstr("error[B5088]: scaffold." + key + " is ")) << command;
      EXPECT_THAT(told(r), HasSubstr(why)) << command;
      EXPECT_THAT(told(r), HasSubstr("\n  " + line + "\n" + caret + "\n")) << command;
      EXPECT_FALSE(std::filesystem::exists(run_dir()));
    }
  }
};

constexpr const char* kNeedsABatch = ", which needs a batch of the input, from '";

TEST_F(ScaffoldPieces, WhatRunsBeforeTheFirstBatchMayNotNeedOne) {
  expect_refused("init_op", "loss", kNeedsABatch);
  expect_refused("local_init", "train_op", kNeedsABatch);
}

TEST_F(ScaffoldPieces, WhatSaysWhatIsMissingIsAVectorOfStrings) {
  expect_refused("ready", "loss", ", which does not name what is missing: a vector of strings");
  expect_refused("ready_for_local_init", "global_step", ", which does not name what is missing: a vector of strings");
  expect_refused("ready", "loss_summary", ", which does not name what is missing: a vector of strings");
}

TEST_F(ScaffoldPieces, ASummaryIsAString) {
  expect_refused("summary_op", "loss", ", which is no serialized summary: a string");
}

}  // namespace
}  // namespace belay::runtime::testing
