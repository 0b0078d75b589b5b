// SPDX-License-Identifier: Apache-2.0
// A result of a hook that does not keep to the ABI (tests/bad_plugins, lies) is found before it is used, and named.
#include <csignal>
#include <filesystem>
#include <string>

#include "tests/e2e/ends_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST_F(PluginEnds, T_23a_WhatBeforeRunGivesBackIsCheckedAndNamed) {
  const struct {
    const char *lie, *said;
  } cases[] = {
      {"huge_fetches", "it returned n_fetches = 1152921504606846976, more than 1048576"},
      {"null_fetches", "it returned n_fetches = 1, and fetches is null"},
      {"no_such_node", "the graph has no node 4000000"},
      {"no_such_output", "there is no output 7"},
      {"other_graph", "belongs to another one"},
      {"empty_output", "an empty Output was used"},
      {"huge_feeds", "it returned n_feeds = 1152921504606846976, more than 1048576"},
      {"null_feeds", "it returned n_feeds = 1, and feeds is null"},
      {"feed_of_rank_a_million", "has rank 1000000, the node has rank 0"},
      {"feed_of_negative_rank", "has rank -3, the node has rank 0"},
      {"feed_without_data", "has no elements (data is null)"},
      {"feed_of_no_dtype", "has the unknown dtype 99"},
      {"feed_of_an_operation", "names an operation, which has no value"},
      {"feed_for_no_node", "the graph has no node 4000000"},
      {"feed_with_dims", "has rank 2, the node has rank 0"},
      {"feed_of_too_few_bytes", "cannot be read: the tensor has bytes = 1, a float32 tensor of [] has 4"},
      {"feed_on_another_device", "cannot be read: the tensor lies on device 3"},
      {"feed_with_a_flag", "cannot be read: the tensor has the unknown flag 64"},
      {"options_without_size", "belay_run_options has struct_size 0: its owner sets it before the call (BELAY_INIT)"},
      {"options_with_a_flag", "belay_run_options has the unknown flag 8"},
      {"options_of_no_level", "it returned trace_level = 9"},
      {"args_zeroed", "belay_run_args has struct_size 0: its owner sets it before the call (BELAY_INIT)"},
      {"args_with_a_flag", "belay_run_args has the unknown flag 2"},
  };
  for (const auto& c : cases) {
    start_over();
    const std::string file = manifest("[[hooks]]\nplugin = \"lies\"\n");
    const ProcessResult r = belay({"run", file}, {"LIE=" + std::string(c.lie)});
    EXPECT_EQ(r.status, 1) << c.lie << r.err;
    const auto errors = lines_with(r.err, "hook \"lies\" (lies.so 1.0.0, train.toml:23) in before_run at step 3: ");
    ASSERT_THAT(errors, SizeIs(1)) << c.lie << r.err;
    EXPECT_THAT(errors[0], HasSubstr(c.said)) << c.lie;
    // It can be left out, as any hook that fails.
    const ProcessResult without =
        belay({"run", file, "--set", "hooks.1.on_error=disable"}, {"LIE=" + std::string(c.lie)});
    EXPECT_EQ(without.status, 0) << c.lie << without.err;
  }
}

// The host follows the pointers while the hook is being called, so the crash is the hook's.
TEST_F(PluginEnds, T_145_AWildPointerThatBeforeRunReturnsCrashesInItsName) {
  if (sanitized()) GTEST_SKIP() << "SKIPPED: a sanitizer has a report of its own";
  for (const char* lie : {"wild_fetches", "wild_feed"}) {
    start_over();
    const ProcessResult r = belay({"run", manifest("[[hooks]]\nplugin = \"lies\"\n")}, {"LIE=" + std::string(lie)});
    EXPECT_EQ(r.signal, SIGSEGV) << lie << r.err;
    EXPECT_THAT(r.err, HasSubstr("belay crashed with SIGSEGV in hook \"lies\" (lies.so 1.0.0, train.toml:23) in "
                                 "before_run at step 3\n"))
        << lie;
  }
}

TEST_F(PluginEnds, T_27a_ACreateThatFailsHasNoInstance) {
  const std::string file = manifest("[[hooks]]\nplugin = \"lies\"\n");
  const ProcessResult r = belay({"run", file}, {"LIE=create_yields_and_fails"});
  EXPECT_EQ(r.status, 2) << r.err;
  EXPECT_THAT(r.err, HasSubstr("cannot create hook \"lies\""));
  EXPECT_THAT(r.err, HasSubstr("it left an instance, which is never destroyed: a create that fails frees its own"));
}

TEST_F(PluginEnds, T_27b_AStatusThatClaimsMoreThanItsBufferShowsNothingOfIt) {
  const ProcessResult r = belay({"run", manifest("[[hooks]]\nplugin = \"lies\"\n")}, {"LIE=long_status"});
  EXPECT_EQ(r.status, 3) << r.err;
  EXPECT_THAT(r.err, HasSubstr("cannot create hook \"lies\""));
  EXPECT_THAT(r.err, HasSubstr("(its message claims more bytes than there is room for)"));
}

TEST_F(PluginEnds, T_20l_WithoutTheSdksBarrierTheHostSeesTheSame) {
  const std::string file = manifest("[[hooks]]\nplugin = \"lies\"\n");
  const std::string hook = "hook \"lies\" (lies.so 1.0.0, train.toml:23) in ";
  const ProcessResult thread = belay({"run", file}, {"LIE=pthread_exit"});
  EXPECT_EQ(thread.status, 3) << thread.err;
  EXPECT_THAT(thread.err, HasSubstr(hook + "after_run at step 3 ended its thread, which is the host's (pthread_exit)"));
  if (!sanitized()) {
    start_over();
    const ProcessResult jump = belay({"run", file}, {"LIE=longjmp"});
    // The place after the jump is undefined. The run does not end well untrained, and the hook is named.
    if (!std::filesystem::exists(dir() + "/model.ckpt-12")) {
      EXPECT_NE(jump.status, 0) << jump.err;
      EXPECT_THAT(jump.err, HasSubstr(hook));
    }
  }
  start_over();
  const ProcessResult create = belay({"run", file}, {"LIE=exit_in_create"});
  EXPECT_EQ(create.status, 3) << create.err;
  EXPECT_THAT(create.err, HasSubstr("belay was ended by exit(0) in " + hook + "create"));
  EXPECT_FALSE(std::filesystem::exists(dir()));
}

}  // namespace
}  // namespace belay::runtime::testing
