// SPDX-License-Identifier: Apache-2.0
// A plugin that writes outside of memory that it was given is named at once. A crash that comes later names the plugins
// that were called before it.
#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/e2e/ends_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::HasSubstr;

struct Case {
  std::vector<std::string> sets;
  std::string more;
  std::string said;
  int status;  // if no other memory may be damaged
};

class OutsideWrites : public RunTest {
 protected:
  void SetUp() override {
    if (sanitized("address")) GTEST_SKIP() << "SKIPPED: a program with the address sanitizer has no guards";
  }
  ProcessResult run(const Case& c, const std::string& outside) {
    std::vector<std::string> args{"run",
                                  regression("", "[checkpoint]\nsave = \"sync\"\nsave_steps = 5\n" + c.more, 20)};
    for (const std::string& set : c.sets) args.insert(args.end(), {"--set", set});
    if (!outside.empty())
      args.insert(args.end(), {"--set", c.sets.back().substr(0, c.sets.back().rfind('.')) + outside});
    return belay(args);
  }
};

const Case kCases[] = {
    {{"input.train.plugin=faulty_input", "input.train.at_call=3", "input.train.in=next"},
     "",
     "input \"train\" of \"faulty_input\" (faulty.so 1.0.0, train.toml:5) in next",
     1},
    {{"hooks.0.at_call=3", "hooks.0.in=after_run"},
     "[[hooks]]\nplugin = \"faulty\"\n",
     "hook \"faulty\" (faulty.so 1.0.0, train.toml:16) in after_run at step 3",
     1},
    {{"hooks.0.at_call=1", "hooks.0.in=save_state"},
     "[[hooks]]\nplugin = \"faulty\"\n",
     "hook \"faulty\" (faulty.so 1.0.0, train.toml:16) in save_state",
     1},
    {{"scaffold.saver.in=write"},
     "[scaffold]\nsaver = { plugin = \"faulty_saver\" }\n",
     "saver \"faulty_saver\" (faulty.so 1.0.0, train.toml:17) in write at step 0",
     0},  // on_save_error = "continue"
};

TEST_F(OutsideWrites, T_145_BytesWrittenOutsideOfAGivenTensorAreAnErrorOfTheCallback) {
  for (const Case& c : kCases) {
    std::filesystem::remove_all(run_dir());
    const ProcessResult behind = run(c, ".outside=64");
    EXPECT_EQ(behind.status, c.status) << c.said << behind.err;
    EXPECT_THAT(behind.err, HasSubstr(c.said + ": it wrote 64 bytes past the end of "));
    std::filesystem::remove_all(run_dir());
    EXPECT_THAT(run(c, ".outside=-64").err, HasSubstr(c.said + ": it wrote 64 bytes before the start of "));
  }
}

TEST_F(OutsideWrites, T_145_ASaverThatReadsPastTheEndOfATensorIsNamedToo) {
  const Case c{{"scaffold.saver.in=read"},
               "[scaffold]\nsaver = { plugin = \"faulty_saver\" }\n",
               "saver \"faulty_saver\" (faulty.so 1.0.0, train.toml:17) in read",
               0};
  // The first checkpoint is read back.
  EXPECT_THAT(run(c, ".outside=64").err, HasSubstr(c.said + " at step 0: it wrote 64 bytes past the end of tensor '"));
}

TEST_F(OutsideWrites, T_145_WhereOtherMemoryMayBeDamagedTheRunEndsAtOnce) {
  for (const Case& c : kCases) {
    std::filesystem::remove_all(run_dir());
    const ProcessResult r = run(c, ".outside=128");
    EXPECT_EQ(r.status, 3) << c.said << r.err;
    EXPECT_THAT(r.err, HasSubstr("error[B2042]: " + c.said + ": it wrote 128 bytes or more past the end of "));
    EXPECT_THAT(r.err, HasSubstr("\n  help: memory of others may be damaged"));
  }
}

// The block is its own, so it has no guards.
TEST_F(PluginEnds, T_145_WhatWasCalledBeforeACrashInMallocIsSaid) {
  if (sanitized()) GTEST_SKIP() << "SKIPPED: a sanitizer reports the crash in its own way";
  const ProcessResult r = run("hook.after_run", "heap", "3");
  EXPECT_NE(r.signal, 0) << r.err;
  EXPECT_THAT(r.err, HasSubstr("\nthe crash is in malloc or free: earlier code wrote outside of its memory, or freed "
                               "memory of others; the last calls of plugins were, the latest first:\n"));
  EXPECT_THAT(r.err, HasSubstr("  hook \"ends\" (ends.so 1.0.0, train.toml:19) in "));
}

}  // namespace
}  // namespace belay::runtime::testing
