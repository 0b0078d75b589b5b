// SPDX-License-Identifier: Apache-2.0
// As ends_test.cc, for the callbacks of optimizers, schedules, exporters and clusters, and for those that come only if
// a run continues, fails, or is over.
#include "tests/e2e/ends_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::HasSubstr;

struct NamedCall {
  const char *in, *named;
};

class KindsEnd : public PluginEnds {
 protected:
  void SetUp() override {
    optimizer = "name = \"ends_optimizer\"\nlearning_rate = { schedule = \"ends_schedule\", learning_rate = 0.01 }\n";
    tables = "[[exporters]]\nplugin = \"ends_exporter\"\n";
  }
  void join_ranks() {
    tables += "[cluster]\nplugin = \"ends_cluster\"\n";
    environment = {"RANK=0", "WORLD_SIZE=2"};
  }
  void expect_named(const NamedCall& place, const std::vector<std::string>& variables = {}) {
    const ProcessResult r = run(place.in, "exit", "1", variables);
    EXPECT_EQ(r.status, 3) << place.in << r.err;
    EXPECT_THAT(r.err, HasSubstr("belay was ended by exit(0) in " + std::string(place.named))) << place.in;
    EXPECT_EQ(warnings_of_next_start(), "") << place.in;
  }
};

TEST_F(KindsEnd, T_20a_AnExitInAnOptimizerAScheduleOrAnExporterIsNamed) {
  for (const NamedCall& place : std::vector<NamedCall>{
           {"optimizer.create", "optimizer \"ends_optimizer\" (ends_kinds.so 1.0.0, train.toml:11) in create\n"},
           {"optimizer.create_slots",
            "optimizer \"ends_optimizer\" (ends_kinds.so 1.0.0, train.toml:11) in create_slots"},
           {"optimizer.prepare", "optimizer \"ends_optimizer\" (ends_kinds.so 1.0.0, train.toml:11) in prepare\n"},
           {"optimizer.apply", "optimizer \"ends_optimizer\" (ends_kinds.so 1.0.0, train.toml:11) in apply\n"},
           {"optimizer.finish", "optimizer \"ends_optimizer\" (ends_kinds.so 1.0.0, train.toml:11) in finish\n"},
           {"schedule.create", "schedule \"ends_schedule\" (ends_kinds.so 1.0.0, train.toml:13) in create\n"},
           {"schedule.build", "schedule \"ends_schedule\" (ends_kinds.so 1.0.0, train.toml:13) in build\n"},
           {"exporter.create", "exporter \"ends_exporter\" (ends_kinds.so 1.0.0, train.toml:23) in create\n"},
           {"exporter.write", "exporter \"ends_exporter\" (ends_kinds.so 1.0.0, train.toml:23) in write"},
           {"exporter.check", "exporter \"ends_exporter\" (ends_kinds.so 1.0.0, train.toml:23) in check"},
       }) {
    start_over();
    expect_named(place);
  }
}

TEST_F(KindsEnd, T_20a_AnExitInAClusterIsNamed) {
  join_ranks();
  for (const NamedCall& place : std::vector<NamedCall>{
           {"cluster.create", "cluster \"ends_cluster\" (ends_kinds.so 1.0.0, train.toml:25) in create\n"},
           {"cluster.open", "cluster \"ends_cluster\" (ends_kinds.so 1.0.0, train.toml:25) in open\n"},
           {"cluster.broadcast", "cluster \"ends_cluster\" (ends_kinds.so 1.0.0, train.toml:25) in broadcast"},
           {"cluster.all_reduce", "cluster \"ends_cluster\" (ends_kinds.so 1.0.0, train.toml:25) in all_reduce"},
           {"cluster.all_gather", "cluster \"ends_cluster\" (ends_kinds.so 1.0.0, train.toml:25) in all_gather"},
           {"cluster.close", "cluster \"ends_cluster\" (ends_kinds.so 1.0.0, train.toml:25) in close"},
       }) {
    start_over();
    expect_named(place);
  }
}

// The hook is after the cluster in the manifest.
TEST_F(KindsEnd, T_20a_AnExitInACallOfAClusterForAHookIsNamed) {
  join_ranks();
  tables += "[session]\nhooks_on_all_ranks = [\"calls_ranks\"]\n[[hooks]]\nplugin = \"calls_ranks\"\n";
  for (const NamedCall& place : std::vector<NamedCall>{
           {"cluster.split", "cluster \"ends_cluster\" (ends_kinds.so 1.0.0, train.toml:25) in split"},
           {"cluster.barrier", "cluster \"ends_cluster\" (ends_kinds.so 1.0.0, train.toml:25) in barrier"},
           {"cluster.send", "cluster \"ends_cluster\" (ends_kinds.so 1.0.0, train.toml:25) in send"},
           {"cluster.receive", "cluster \"ends_cluster\" (ends_kinds.so 1.0.0, train.toml:25) in receive"},
       }) {
    start_over();
    expect_named(place);
  }
}

TEST_F(KindsEnd, T_20a_AnExitWhereARunGoesOnOrFailsIsNamed) {
  for (const NamedCall& place : std::vector<NamedCall>{
           {"hook.load_state", "hook \"ends\" (ends.so 1.0.0, train.toml:19) in load_state"},
           {"saver.read", "saver \"ends_saver\" (ends.so 1.0.0, train.toml:15) in read"},
           {"input.seek", "input \"train\" of \"ends_input\" (ends.so 1.0.0, train.toml:7) in seek"},
       }) {
    start_over();
    ASSERT_EQ(belay({"run", manifest(), "--set", "run.max_steps=6"}).status, 0);
    expect_named(place);
  }
  start_over();
  expect_named({"hook.on_error", "hook \"ends\" (ends.so 1.0.0, train.toml:19) in on_error at step 1"},
               {"ENDS_FAIL=1"});
}

// An operation's object that only infers shapes goes when that call returns.
const NamedCall kDestroys[] = {
    {"saver.destroy", "saver \"ends_saver\" (ends.so 1.0.0, train.toml:15) in destroy"},
    {"init_fn.destroy", "init_fn \"ends_init_fn\" (ends.so 1.0.0, train.toml:16) in destroy"},
    {"model.destroy", "model \"ends_model\" (ends.so 1.0.0, train.toml:9) in destroy"},
    {"input.destroy", "input \"train\" of \"ends_input\" (ends.so 1.0.0, train.toml:7) in destroy"},
    {"op.destroy", "op \"ends_op\" (ends.so 1.0.0, train.toml:21) in infer"},
    {"optimizer.destroy", "optimizer \"ends_optimizer\" (ends_kinds.so 1.0.0, train.toml:11) in destroy"},
    {"schedule.destroy", "schedule \"ends_schedule\" (ends_kinds.so 1.0.0, train.toml:13) in destroy"},
    {"exporter.destroy", "exporter \"ends_exporter\" (ends_kinds.so 1.0.0, train.toml:23) in destroy"},
    {"cluster.destroy", "cluster \"ends_cluster\" (ends_kinds.so 1.0.0, train.toml:25) in destroy"},
};

TEST_F(KindsEnd, T_20a_AnExitInTheDestructorOfAnyKindIsNamed) {
  join_ranks();
  for (const NamedCall& place : kDestroys) {
    start_over();
    expect_named(place);
  }
}

TEST_F(KindsEnd, T_147_ADestructorOfAnyKindThatDoesNotReturnIsNamedWithStatus124) {
  join_ranks();
  tables += "[session]\nno_progress_secs = 1\n";
  std::vector<NamedCall> places(std::begin(kDestroys), std::end(kDestroys));
  places.push_back({"hook.destroy", "hook \"ends\" (ends.so 1.0.0, train.toml:19) in destroy"});
  for (const NamedCall& place : places) {
    start_over();
    const ProcessResult r = run(place.in, "hang");
    EXPECT_EQ(r.status, 124) << place.in << r.err;
    for (const char* when : {"warning no progress for ", "error[B5017]: no progress for "})
      EXPECT_THAT(lines_with(r.err, when), ::testing::Contains(HasSubstr(" s, in " + std::string(place.named))))
          << place.in << r.err;
    EXPECT_THAT(r.err, HasSubstr("ends")) << place.in;
    warnings_of_next_start();
  }
}

// `check` has no training, and other threads' stacks all the same.
TEST_F(KindsEnd, T_147_ACheckThatAPluginHangsInIsNamedWithStatus124) {
  tables += "[session]\nno_progress_secs = 1\n";
  for (const char* in : {"hook.create", "hook.destroy"}) {
    const ProcessResult r = belay({"check", manifest()}, {"ENDS_IN=" + std::string(in), "ENDS_AT=1", "ENDS_HOW=hang"});
    EXPECT_EQ(r.status, 124) << in << r.err;
    EXPECT_THAT(r.err, HasSubstr(" s, in hook \"ends\" (ends.so 1.0.0, train.toml:19) in ")) << in;
  }
}

TEST_F(KindsEnd, T_147_AHandlerOfExitThatDoesNotReturnIsNamedWithStatus124) {
  if (sanitized()) GTEST_SKIP() << "SKIPPED: a sanitizer reports crashes in its own way, and Belay takes no signals";
  tables += "[session]\nno_progress_secs = 1\n";
  const ProcessResult r = run("hook.begin", "atexit_hang");
  EXPECT_EQ(r.status, 124) << r.err;
  EXPECT_THAT(lines_with(r.err, "info ended at step 12"), ::testing::SizeIs(1)) << r.err;
  EXPECT_THAT(r.err, HasSubstr("\nno progress for 1.0 s since the run ended with status 0, in plugin '" + kEndsPlugins +
                               "/ends.so', in a handler of exit or a destructor of a global object; the stack "
                               "follows, then the process ends with status 124\n"));
}

TEST_F(PluginEnds, T_20r_WhatAPluginTookFromTheProcessIsSaidWithItsLibrary) {
  const struct {
    const char *how, *said;
  } cases[] = {
      {"no_files", "a plugin changed this process: the limit of open files (ulimit -n) was "},
      {"no_file_size", "a plugin changed this process: the limit of the size of a file (ulimit -f) was "},
      {"close_files", "a plugin changed this process: open files of the host were closed; "},
      {"remove_run", "a plugin changed this process: the run directory '"},
  };
  for (const auto& c : cases) {
    for (const char* in : {"hook.create", "hook.after_run"}) {
      start_over();
      const ProcessResult r = run(in, c.how);
      EXPECT_NE(r.status, 0) << c.how << in;
      EXPECT_THAT(r.err, HasSubstr(c.said)) << in;
      EXPECT_THAT(r.err, HasSubstr("; plugins that are not Belay's own: '" + kEndsPlugins + "/ends.so'; "))
          << c.how << in;
      warnings_of_next_start();
    }
  }
  if (!sanitized()) {  // a sanitizer reserves terabytes of addresses
    start_over();
    const ProcessResult starved = run("hook.after_run", "no_memory");
    EXPECT_NE(starved.status, 0);
    EXPECT_THAT(starved.err, HasSubstr("memory (ulimit -v)")) << starved.err;
  }
  start_over();
  const ProcessResult well = run("hook.after_run", "raise_sigterm", "3");
  EXPECT_EQ(well.status, 0) << well.err;
  EXPECT_THAT(lines_with(well.err, "a plugin changed this process"), ::testing::IsEmpty());
}

TEST_F(PluginEnds, T_63b_AHookWhoseDestroyRemovesTheRunDirectoryLeavesNoSuccess) {
  const ProcessResult r = run("hook.destroy", "remove_run");
  EXPECT_EQ(r.status, 7) << r.err;
  EXPECT_THAT(r.err, HasSubstr("the last checkpoint was removed after it was written: there is no " + dir()));
  EXPECT_THAT(r.err, HasSubstr("the run directory '" + dir() + "' was removed; plugins that are not Belay's own: '" +
                               kEndsPlugins + "/ends.so'"));
}

}  // namespace
}  // namespace belay::runtime::testing
