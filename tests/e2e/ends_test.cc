// SPDX-License-Identifier: Apache-2.0
// Nothing that a plugin does ends a run unnamed or with status 0. tests/bad_plugins/ends does each of it. Here are the
// messages of `belay run` and its status. The next start gets the run directory and finishes.
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "tests/e2e/ends_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

const std::string kHook = "hook \"ends\" (ends.so 1.0.0, train.toml:19)";

// Each place in which a plugin of each kind is called, as it is named. The first checkpoint is written before step 0.
const struct Place {
  const char *in, *named;
} kPlaces[] = {
    {"hook.create", "hook \"ends\" (ends.so 1.0.0, train.toml:19) in create"},
    {"hook.begin", "hook \"ends\" (ends.so 1.0.0, train.toml:19) in begin"},
    {"hook.after_create_session", "hook \"ends\" (ends.so 1.0.0, train.toml:19) in after_create_session"},
    {"hook.before_run", "hook \"ends\" (ends.so 1.0.0, train.toml:19) in before_run at step 1"},
    {"hook.after_run", "hook \"ends\" (ends.so 1.0.0, train.toml:19) in after_run at step 1"},
    {"hook.before_save", "hook \"ends\" (ends.so 1.0.0, train.toml:19) in before_save"},
    {"hook.save_state", "hook \"ends\" (ends.so 1.0.0, train.toml:19) in save_state"},
    {"hook.after_save", "hook \"ends\" (ends.so 1.0.0, train.toml:19) in after_save"},
    {"hook.end", "hook \"ends\" (ends.so 1.0.0, train.toml:19) in end at step 12"},
    {"hook.destroy", "hook \"ends\" (ends.so 1.0.0, train.toml:19) in destroy at step 12"},
    {"saver.create", "saver \"ends_saver\" (ends.so 1.0.0, train.toml:15) in create"},
    {"saver.write", "saver \"ends_saver\" (ends.so 1.0.0, train.toml:15) in write at step 0"},
    {"init_fn.create", "init_fn \"ends_init_fn\" (ends.so 1.0.0, train.toml:16) in create"},
    {"init_fn.run", "init_fn \"ends_init_fn\" (ends.so 1.0.0, train.toml:16) in run"},
    {"model.create", "model \"ends_model\" (ends.so 1.0.0, train.toml:9) in create"},
    {"model.build", "model \"ends_model\" (ends.so 1.0.0, train.toml:9) in build"},
    {"model.initial_value", "model \"ends_model\" (ends.so 1.0.0, train.toml:9) in initial_value"},
    {"input.create", "input \"train\" of \"ends_input\" (ends.so 1.0.0, train.toml:7) in create"},
    {"input.spec", "input \"train\" of \"ends_input\" (ends.so 1.0.0, train.toml:7) in spec"},
    {"input.open", "input \"train\" of \"ends_input\" (ends.so 1.0.0, train.toml:7) in open"},
    {"input.next", "input \"train\" of \"ends_input\" (ends.so 1.0.0, train.toml:7) in next"},
    {"input.size", "input \"train\" of \"ends_input\" (ends.so 1.0.0, train.toml:7) in size"},
    // The object is made for each call.
    {"op.create", "op \"ends_op\" (ends.so 1.0.0, train.toml:21) in infer"},
    {"op.infer", "op \"ends_op\" (ends.so 1.0.0, train.toml:21) in infer"},
    {"op.prepare", "op \"ends_op\" (ends.so 1.0.0, train.toml:21) in make_kernel at step 1"},
    {"op.run", "op \"ends_op\" (ends.so 1.0.0, train.toml:21) in run at step 1"},
    {"op.gradient", "op \"ends_op\" (ends.so 1.0.0, train.toml:21) in gradient"},
};

bool before_training(const std::string& place) {
  for (const char* late : {"hook.after", "hook.before", "hook.save", "hook.end", "hook.destroy", "saver.write",
                           "init_fn.run", "op.run", "op.prepare", "input.size", "model.initial_value"})
    if (place.rfind(late, 0) == 0) return false;
  return true;
}

TEST_F(PluginEnds, T_20a_AnExitInAnyCallbackOfAnyKindIsNamedAndStatusThree) {
  for (const Place& place : kPlaces) {
    start_over();
    const ProcessResult r = run(place.in, "exit");
    EXPECT_EQ(r.status, 3) << place.in << r.err;
    // How many steps there were before the first after_save is the disk's business.
    const char* end = place.in == std::string("hook.after_save") ? "" : "\n";
    EXPECT_THAT(r.err, HasSubstr("belay was ended by exit(0) in " + std::string(place.named) + end)) << place.in;
    EXPECT_EQ(std::filesystem::exists(dir()), !before_training(place.in)) << place.in;
    EXPECT_EQ(warnings_of_next_start(), "") << place.in;
  }
}

TEST_F(PluginEnds, T_20b_QuickExitIsNamedAndStatusThree) {
  for (const char* in : {"hook.create", "hook.after_run", "hook.destroy", "input.next", "saver.write", "op.run"}) {
    start_over();
    const ProcessResult r = run(in, "quick_exit");
    EXPECT_EQ(r.status, 3) << in << r.err;
    EXPECT_THAT(r.err, HasSubstr("belay was ended by quick_exit in ")) << in;
    EXPECT_THAT(r.err, HasSubstr("(ends.so 1.0.0, train.toml:")) << in;
    EXPECT_EQ(warnings_of_next_start(), "") << in;
  }
}

TEST_F(PluginEnds, T_149_AnExitPastTheHandlersIsNamedAndStatusThree) {
  for (const char* in : {"hook.create", "hook.after_run", "hook.destroy", "input.next", "saver.write", "op.run"}) {
    for (const char* how : {"_exit", "_Exit"}) {
      start_over();
      const ProcessResult r = run(in, how);
      EXPECT_EQ(r.status, 3) << in << r.err;
      EXPECT_THAT(r.err, HasSubstr(std::string("belay was ended by ") + how + "(0) in ")) << in;
      EXPECT_THAT(r.err, HasSubstr("(ends.so 1.0.0, train.toml:")) << in;
      EXPECT_EQ(warnings_of_next_start(), "") << in;
    }
  }
  // While it is loaded, and by `check`.
  start_over();
  EXPECT_EQ(run("load", "_exit").status, 3);
  const ProcessResult check = belay({"check", manifest()}, {"ENDS_IN=load", "ENDS_AT=1", "ENDS_HOW=_exit"});
  EXPECT_EQ(check.status, 3) << check.err;
  EXPECT_THAT(check.err, HasSubstr("belay was ended by _exit(0) in plugin '" + kEndsPlugins + "/ends.so'"));
}

TEST_F(PluginEnds, T_153_AThreadThatCrashesAfterAGoodEndDoesNotSayThatBelayCrashed) {
  const ProcessResult r = run("hook.begin", "atexit_thread_crash");
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.err,
              HasSubstr("\nthe run has ended with status 0; after that a thread crashed with SIGSEGV in plugin '"));
  EXPECT_THAT(lines_with(r.err, "belay crashed"), IsEmpty()) << r.err;
}

// A child that shares the process's memory has its mark, too.
TEST_F(PluginEnds, T_149_AChildOfThePluginsEndsAsItLikes) {
  for (const char* how : {"fork__exit", "vfork__exit"}) {
    start_over();
    const ProcessResult r = run("hook.after_run", how, "3");
    EXPECT_EQ(r.status, 0) << how << r.err;
    EXPECT_THAT(r.err, HasSubstr("the copy ended with status 5\n")) << how;
    EXPECT_THAT(lines_with(r.err, "belay was ended"), IsEmpty()) << how;
  }
}

// The log has its own threads: a line of it once came into the middle of the message.
TEST_F(PluginEnds, WhatEndedTheProcessIsSaidInOneWrite) {
  int ends[2];  // of a socket on which each write is a packet
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
  const std::string path = manifest();
  std::string variables[] = {"ENDS_IN=saver.write", "ENDS_HOW=quick_exit", "ENDS_AT=1", "ENDS_RUN=" + dir(),
                             "BELAY_PLUGIN_PATH=" + tested_build() + "/plugins"};
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDERR_FILENO);
    for (std::string& v : variables) ::putenv(v.data());
    ::execl(tested_belay().c_str(), "belay", "run", path.c_str(), nullptr);
    ::_exit(127);
  }
  ::close(ends[1]);
  std::vector<std::string> writes;
  char packet[1 << 16];
  for (ssize_t n = 0; (n = ::recv(ends[0], packet, sizeof(packet), 0)) > 0;)
    writes.emplace_back(packet, static_cast<std::size_t>(n));
  ::close(ends[0]);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 3);
  EXPECT_THAT(writes, Contains(AllOf(StartsWith("\nbelay was ended by quick_exit in saver \"ends_saver\""),
                                     EndsWith("\nno checkpoint was written\n"))));
}

TEST_F(PluginEnds, T_20c_AnExitWhileTheLibraryIsLoadedIsNamedAndStatusThree) {
  for (const char* how : {"exit", "exit_9", "quick_exit", "terminate"}) {
    start_over();
    const ProcessResult r = run("load", how);
    EXPECT_EQ(r.status, 3) << how << r.err;
    EXPECT_THAT(r.err, HasSubstr("plugin '" + kEndsPlugins + "/ends.so'")) << how;
    EXPECT_FALSE(std::filesystem::exists(temp / "runs")) << how;
    const ProcessResult check =
        belay({"check", manifest()}, {"ENDS_IN=load", "ENDS_AT=1", "ENDS_HOW=" + std::string(how)});
    EXPECT_EQ(check.status, 3) << how << check.err;
    EXPECT_EQ(warnings_of_next_start(), "") << how;
  }
}

// The next start reports a process that ended without a word, and `belay check` reports it before that.
TEST_F(PluginEnds, T_20d_WhatEndsTheProcessAtOnceIsNamedByTheNextStart) {
  const struct {
    const char *in, *at, *how, *named;
  } cases[] = {
      {"load", "1", "exec", "ends.so', which was being loaded"},
      {"load", "1", "exit_group", "ends.so', which was being loaded"},
      {"hook.create", "1", "exit_group", "hook \"ends\" (ends.so 1.0.0, train.toml:19) in create"},
      {"input.open", "1", "exec", "input \"train\" of \"ends_input\" (ends.so 1.0.0, train.toml:7) in open"},
      {"hook.after_run", "3", "exec", "hook \"ends\" (ends.so 1.0.0, train.toml:19) in after_run at step 3"},
      {"hook.before_run", "3", "exec", "hook \"ends\" (ends.so 1.0.0, train.toml:19) in before_run at step 3"},
      {"hook.after_run", "3", "exit_group", "hook \"ends\" (ends.so 1.0.0, train.toml:19) in after_run at step 3"},
      {"hook.after_run", "5", "sigkill", "hook \"ends\" (ends.so 1.0.0, train.toml:19) in after_run at step 5"},
      {"op.run", "3", "exit_group", "op \"ends_op\" (ends.so 1.0.0, train.toml:21) in run at step 3"},
      {"saver.write", "2", "exit_group", "saver \"ends_saver\" (ends.so 1.0.0, train.toml:15) in write at step"},
      {"input.next", "4", "exit_group", "input \"train\" of \"ends_input\" (ends.so 1.0.0, train.toml:7) in next"},
      {"hook.destroy", "1", "exit_group", "hook \"ends\" (ends.so 1.0.0, train.toml:19) in destroy at step 12"},
  };
  for (const auto& c : cases) {
    start_over();
    run(c.in, c.how, c.at);
    EXPECT_TRUE(std::filesystem::exists(dir() + "/attempt")) << c.in << c.how;
    const ProcessResult check = belay({"check", manifest()});
    EXPECT_EQ(check.status, 0) << check.err;
    EXPECT_THAT(lines_with(check.err, kWithoutAWord), SizeIs(1)) << check.err;
    EXPECT_THAT(check.err, HasSubstr(c.named));
    const std::string told = warnings_of_next_start();
    EXPECT_THAT(told, HasSubstr(c.named)) << c.in << c.how;
    EXPECT_THAT(told, HasSubstr("pid ")) << c.in << c.how;
    const ProcessResult again = belay({"check", manifest()});
    EXPECT_THAT(lines_with(again.err, kWithoutAWord), IsEmpty()) << "it is reported once";
  }
}

TEST_F(PluginEnds, T_20e_ARunThatIsGoingOnHasNotEndedWithoutAWord) {
  BelayProcess run({"run", manifest(), "--set", "run.max_steps=100000000"});
  ASSERT_TRUE(run.wait_for("saved ")) << run.wait().err;
  EXPECT_TRUE(std::filesystem::exists(dir() + "/attempt"));
  const ProcessResult check = belay({"check", manifest()});
  EXPECT_EQ(check.status, 0) << check.err;
  EXPECT_THAT(lines_with(check.err, kWithoutAWord), IsEmpty());
  EXPECT_EQ(belay({"run", manifest()}).status, 6);
  run.kill(SIGTERM);
  EXPECT_EQ(run.wait().signal, SIGTERM);
  EXPECT_FALSE(std::filesystem::exists(dir() + "/attempt"));
}

TEST_F(PluginEnds, T_20f_AThreadOfAPluginThatEndsTheProcessIsNamed) {
  if (sanitized()) GTEST_SKIP() << "a sanitizer reports a crash in its own way";
  const struct {
    const char *how, *said;
    int status;
  } cases[] = {
      {"thread_exit", "belay was ended by exit(0) in plugin '", 3},
      {"thread_crash", "belay crashed with SIGSEGV in plugin '", 128 + SIGSEGV},
      {"thread_throws", "belay crashed with SIGABRT in plugin '", 128 + SIGABRT},
  };
  for (const auto& c : cases) {
    start_over();
    const ProcessResult r = run("hook.after_run", c.how, "3");
    EXPECT_EQ(r.status, c.status) << c.how << r.err;
    EXPECT_THAT(r.err, HasSubstr(c.said + kEndsPlugins + "/ends.so'")) << c.how;
    EXPECT_EQ(warnings_of_next_start(), "") << c.how;
  }
}

TEST_F(PluginEnds, T_20g_WhatIsLeftForTheEndOfTheProcessCannotMakeAFailedRunASuccess) {
  for (const char* how : {"atexit__exit", "atexit_crash", "late_thread_exit"}) {
    start_over();
    const ProcessResult r = run("hook.begin", how, "1", {"ENDS_FAIL=1"});
    EXPECT_EQ(r.status, 1) << how << r.err;
    EXPECT_THAT(r.err, HasSubstr(kHook + " in after_run at step 1: boom")) << how;
    EXPECT_EQ(warnings_of_next_start(), "") << how;
  }
  // A thread that is still there when a good run ends, and calls exit then, changes nothing either.
  start_over();
  const ProcessResult late = run("hook.end", "late_thread_exit");
  EXPECT_TRUE(late.status == 0 || late.status == 3) << late.err;
  EXPECT_THAT(lines_with(late.err, "info ended at step 12"), SizeIs(1)) << late.err;
}

TEST_F(PluginEnds, T_20h_WhatCrashesTheProcessIsNamed) {
  if (sanitized()) GTEST_SKIP() << "a sanitizer reports the crash in its own way";
  const struct {
    const char *in, *how, *signal;
  } cases[] = {{"hook.after_run", "abort", "SIGABRT"},
               {"hook.after_run", "segv", "SIGSEGV"},
               {"hook.after_run", "overflow", "SIGSEGV"},
               {"hook.after_run", "terminate", "SIGABRT"},
               {"hook.after_run", "longjmp", "SIGABRT"},
               {"hook.after_run", "alarm", "SIGALRM"},
               {"hook.after_run", "cpu_limit", "SIGXCPU"},
               {"hook.after_run", "joinable", "SIGABRT"},
               {"input.next", "overflow", "SIGSEGV"},
               {"input.next", "segv", "SIGSEGV"},
               {"op.run", "segv", "SIGSEGV"},
               {"saver.write", "abort", "SIGABRT"},
               {"model.build", "segv", "SIGSEGV"},
               {"init_fn.run", "abort", "SIGABRT"},
               {"hook.after_run", "pthread_exit", "SIGABRT"}};
  for (const auto& c : cases) {
    start_over();
    const ProcessResult r = run(c.in, c.how, c.in == std::string("hook.after_run") ? "3" : "1");
    EXPECT_NE(r.signal, 0) << c.in << c.how << r.err;
    const std::string crashed = "belay crashed with " + std::string(c.signal);
    // The kernel gives a signal of the process to any thread. On another thread the call is one of those meanwhile.
    const bool to_process = c.how == std::string("alarm") || c.how == std::string("cpu_limit");
    EXPECT_THAT(r.err, AnyOf(HasSubstr(crashed + " in "), HasSubstr(crashed + (to_process ? "; meanwhile " : " in "))))
        << c.in << c.how;
    EXPECT_THAT(r.err, HasSubstr("(ends.so 1.0.0, train.toml:")) << c.in << c.how;
    EXPECT_EQ(warnings_of_next_start(), "") << c.in << c.how;
  }
}

// F29
TEST_F(PluginEnds, ACheckpointWhoseRestoreCrashesTwoStartsIsPassedOverByTheThird) {
  if (sanitized()) GTEST_SKIP() << "a sanitizer reports the crash in its own way";
  ASSERT_EQ(belay({"run", manifest()}).status, 0);
  // A kill does not mention the checkpoint.
  for (int i = 0; i < 3; ++i) EXPECT_EQ(run("saver.read", "sigkill").signal, SIGKILL);
  for (int i = 0; i < 2; ++i) {
    const ProcessResult r = run("saver.read", "segv");
    EXPECT_EQ(r.signal, SIGSEGV);
    EXPECT_THAT(r.err, HasSubstr("belay crashed with SIGSEGV in saver \"ends_saver\""));
  }
  const ProcessResult third = belay({"run", manifest()});
  EXPECT_EQ(third.status, 0) << third.err;
  EXPECT_THAT(third.err, HasSubstr("runs/one/model.ckpt-12': 2 starts crashed while it was restored; to try it again, "
                                   "remove its file 'crashed'"));
  EXPECT_THAT(lines_with(third.err, "info restored step 8"), SizeIs(1)) << third.err;
  // It came to that step again, and what it saved there is another checkpoint.
  const ProcessResult fourth = belay({"run", manifest()});
  EXPECT_THAT(lines_with(fourth.err, "info restored step 12"), SizeIs(1)) << fourth.err;
}

TEST_F(PluginEnds, T_20i_ATerminateHandlerThatExitsIsNamed) {
  const ProcessResult r = run("hook.after_run", "terminate_exits", "3");
  EXPECT_EQ(r.status, 3) << r.err;
  EXPECT_THAT(r.err, HasSubstr("belay was ended by exit(0) in " + kHook + " in after_run at step 3"));
  EXPECT_EQ(warnings_of_next_start(), "");
}

TEST_F(PluginEnds, T_20j_ASignalThatAPluginSendsToItsProcessIsSaidToBeThat) {
  const ProcessResult r = run("hook.after_run", "sigterm", "3");
  EXPECT_EQ(r.signal, SIGTERM) << r.err;
  EXPECT_THAT(r.err, HasSubstr("SIGTERM came from this process itself, so from a plugin; being called: " + kHook +
                               " in after_run at step 3"));
  EXPECT_EQ(warnings_of_next_start(), "");
  // One that is sent to the thread is blocked there, and changes nothing.
  start_over();
  const ProcessResult raised = run("hook.after_run", "raise_sigterm", "3");
  EXPECT_EQ(raised.status, 0) << raised.err;
  EXPECT_THAT(lines_with(raised.err, "info ended at step 12"), SizeIs(1)) << raised.err;
}

// If a plugin removes something from the process, the host's next action fails: never status 0 untrained.
TEST_F(PluginEnds, T_20k_WhatIsTakenFromTheProcessEndsTheRunWithAnErrorOrNotAtAll) {
  for (const char* how : {"close_files", "close_all", "dlclose", "no_files", "no_file_size", "no_memory", "remove_run",
                          "truncate_mark"}) {
    start_over();
    const ProcessResult r = run("hook.after_run", how, "3");
    const bool trained = std::filesystem::exists(dir() + "/model.ckpt-12");
    EXPECT_TRUE(r.status != 0 || trained) << how << r.err;
    // If stderr is closed, the run cannot report it, and the next start does.
    if (how == std::string("close_all")) {
      EXPECT_THAT(belay({"check", manifest()}).err, HasSubstr(kHook)) << how;
      EXPECT_THAT(warnings_of_next_start(), HasSubstr(kHook)) << how;
      continue;
    }
    EXPECT_TRUE(r.status == 0 || !r.err.empty()) << how;
    // A sanitizer reports a crash in its own way.
    EXPECT_TRUE(sanitized() || r.status == 0 || r.err.find("ends.so") != std::string::npos) << how << r.err;
    warnings_of_next_start();
  }
}

TEST_F(PluginEnds, T_25a_ACrashInAStaticConstructorNamesThePlugin) {
  if (sanitized()) GTEST_SKIP() << "a sanitizer reports the crash in its own way";
  for (const char* how : {"segv", "abort", "overflow"}) {
    start_over();
    const ProcessResult r = run("load", how);
    EXPECT_NE(r.signal, 0) << how << r.err;
    EXPECT_THAT(r.err, HasSubstr(" in plugin '" + kEndsPlugins + "/ends.so', while it was loaded\n")) << how;
    EXPECT_FALSE(std::filesystem::exists(temp / "runs")) << how;
    EXPECT_EQ(warnings_of_next_start(), "") << how;
  }
  const ProcessResult thread = run("load", "pthread_exit");
  EXPECT_NE(thread.status, 0) << thread.err;
  EXPECT_THAT(thread.err, HasSubstr("plugin '" + kEndsPlugins + "/ends.so'"));
}

TEST_F(PluginEnds, T_25b_ACrashInDestroyAndAJoinableThreadThereNameThePlugin) {
  if (sanitized()) GTEST_SKIP() << "a sanitizer reports the crash in its own way";
  for (const char* how : {"segv", "abort", "joinable"}) {
    start_over();
    const ProcessResult r = run("hook.destroy", how);
    EXPECT_NE(r.signal, 0) << how << r.err;
    EXPECT_THAT(r.err, HasSubstr(" in " + kHook + " in destroy")) << how;
    EXPECT_EQ(warnings_of_next_start(), "") << how;
  }
  start_over();
  const ProcessResult r = run("hook.begin", "atexit_crash");
  EXPECT_EQ(r.signal, SIGSEGV) << r.err;
  EXPECT_THAT(r.err, HasSubstr(" in plugin '" + kEndsPlugins + "/ends.so', outside of its callbacks"));
}

TEST_F(PluginEnds, T_26a_ACopyOfTheProcessThatComesBackEndsThereAndTheRunGoesOn) {
  std::vector<std::string> places = {"hook.after_run", "hook.create", "input.next", "op.run"};
  // After an initializer the copy continues in dlopen, which allocates. glibc's fork leaves its allocator usable. The
  // sanitizer's may stay locked by a thread that the copy does not have, and then the copy waits for ever.
  if (!sanitized("address")) places.emplace_back("load");
  for (const char* how : {"fork", "clone"}) {
    for (const std::string& in : places) {
      start_over();
      const ProcessResult r = run(in, how);
      EXPECT_EQ(r.status, 0) << in << how << r.err;
      EXPECT_THAT(r.err, HasSubstr("ends.so")) << in << how;
      EXPECT_THAT(r.err, ::testing::ContainsRegex("and the copy (came back|called the host's [a-z_.]+): the copy "))
          << in << how;
      EXPECT_THAT(r.err, HasSubstr("the copy ended with status 3\n")) << in << how;
      EXPECT_THAT(lines_with(r.err, "info ended at step 12"), SizeIs(1)) << in << how << r.err;
    }
  }
}

TEST_F(PluginEnds, T_26b_ForkWithExecOrExitStaysAllowed) {
  const ProcessResult exec = run("hook.after_run", "fork_exec", "3");
  EXPECT_EQ(exec.status, 0) << exec.err;
  EXPECT_THAT(exec.err, HasSubstr("the copy ended with status 0\n"));
  if (sanitized("address")) return;  // the copy's exit frees memory, and may wait for ever as above
  start_over();
  const ProcessResult exits = run("hook.after_run", "fork_exit", "3");
  EXPECT_EQ(exits.status, 0) << exits.err;
  EXPECT_THAT(exits.err, HasSubstr("the copy ended with status 5\n"));
  EXPECT_THAT(lines_with(exits.err, "belay was ended"), IsEmpty());
}

TEST_F(PluginEnds, T_26c_ACopyThatStaysDoesNotHoldTheRunDirectory) {
  BelayProcess run({"run", manifest()},
                   {"ENDS_IN=hook.after_run", "ENDS_HOW=fork_stays", "ENDS_AT=3", "ENDS_RUN=" + dir()});
  ASSERT_TRUE(run.wait_for("info ended at step 12")) << run.wait().err;
  // The copy keeps stderr open, but the run has ended: its directory is free.
  const ProcessResult r = run.wait();
  EXPECT_EQ(r.status, 0) << r.err;
  const std::vector<std::string> copy = lines_with(r.err, "the copy is ");
  ASSERT_THAT(copy, SizeIs(1));
  const pid_t pid = std::stoi(copy[0].substr(12));
  EXPECT_EQ(::kill(pid, 0), 0) << "the copy is still there";
  EXPECT_EQ(warnings_of_next_start(), "");
  ::kill(pid, SIGKILL);
}

// Without its threads a copy once waited in there for ever.
TEST_F(PluginEnds, T_150_ACopyThatCallsAServiceOfTheHostEndsThere) {
  const ProcessResult r = run("op.parallel", "fork", "3");
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.err,
              HasSubstr("error[B2044]: op \"ends_op\" (ends.so 1.0.0, train.toml:21) forked the process, and the copy "
                        "called the host's op.parallel: the copy (pid "));
  EXPECT_THAT(r.err, HasSubstr("the copy ended with status 3\n"));
  EXPECT_THAT(lines_with(r.err, "info ended at step 12"), SizeIs(1)) << r.err;
}

// The threads that its end would wait for are not in it.
TEST_F(PluginEnds, T_150_ACopyThatComesBackFromAPartOfAnOperationEndsThere) {
  for (const char* in : {"op.first_part", "op.other_part"}) {
    start_over();
    const ProcessResult r = belay({"run", manifest(), "--set", "run.threads=2"},
                                  {"ENDS_IN=" + std::string(in), "ENDS_HOW=fork", "ENDS_AT=3"});
    EXPECT_EQ(r.status, 0) << in << r.err;
    EXPECT_THAT(r.err,
                HasSubstr("error[B2044]: op \"ends_op\" (ends.so 1.0.0, train.toml:21) in run forked the process, and "
                          "the copy came back: the copy (pid "))
        << in;
    EXPECT_THAT(r.err, HasSubstr("the copy ended with status 3\n")) << in;
    EXPECT_THAT(lines_with(r.err, "info ended at step 12"), SizeIs(1)) << in << r.err;
  }
}

TEST_F(PluginEnds, WhatEndsTheProcessInAPartOnAnotherThreadHasTheNameOfItsOperation) {
  const std::string named = " in op \"ends_op\" (ends.so 1.0.0, train.toml:21) in run at step 1\n";
  const auto ended = [&](const std::string& how) {
    start_over();
    return belay({"run", manifest(), "--set", "run.threads=2"},
                 {"ENDS_IN=op.other_part", "ENDS_HOW=" + how, "ENDS_AT=1"});
  };
  const ProcessResult exit = ended("exit");
  EXPECT_EQ(exit.status, 3) << exit.err;
  EXPECT_THAT(exit.err, HasSubstr("belay was ended by exit(0)" + named));
  if (sanitized()) return;  // a sanitizer reports a crash in its own way
  const ProcessResult crash = ended("segv");
  EXPECT_EQ(crash.signal, SIGSEGV) << crash.err;
  EXPECT_THAT(crash.err, HasSubstr("belay crashed with SIGSEGV" + named));
}

TEST_F(PluginEnds, T_26f_ValidateFailsWhatEndsOrCopiesOrTakesAwayItsProcess) {
  const struct {
    const char *how, *said;
  } cases[] = {
      {"exit", "ended the process with status 0"},
      {"_exit", "ended the process with status 0"},
      {"exec", "ended the process with status 0"},
      {"sigkill", "crashed with signal 9"},
      {"fork", "forked the process, and the copy came back from a callback; a copy must call exec or _exit there"},
      {"clone", "forked the process, and the copy came back from a callback; a copy must call exec or _exit there"},
      {"no_file_size", "changed a limit of the process (setrlimit)"},
      {"close_files", "ended the process with status 0"},
  };
  for (const auto& c : cases) {
    const ProcessResult r = belay({"validate", kEndsPlugins + "/ends.so"},
                                  {"ENDS_IN=hook.after_run", "ENDS_AT=2", "ENDS_HOW=" + std::string(c.how)});
    EXPECT_EQ(r.status, 3) << c.how << r.out;
    EXPECT_THAT(r.out, HasSubstr(c.said)) << c.how;
  }
}

// Root has no limit of processes, so the test becomes user nobody.
TEST_F(PluginEnds, T_57c_ALimitOfThreadsOrMemoryIsNamedWithItsCure) {
  if (::geteuid() != 0) GTEST_SKIP() << "SKIPPED: this user is not root, and cannot become one with a limit";
  const std::string file = manifest();
  ASSERT_EQ(std::system(("chown -R 65534:65534 '" + temp.path() + "'").c_str()), 0);
  const auto run_with = [&](const std::string& limit) {
    start_over();
    const std::string said = temp / "said";
    const int status = std::system(("BELAY_PLUGIN_PATH=" + tested_build() +
                                    "/plugins setpriv --reuid=65534 --regid=65534 --clear-groups prlimit " + limit +
                                    " '" + tested_belay() + "' run '" + file + "' > '" + said + "' 2>&1")
                                       .c_str());
    EXPECT_TRUE(WIFEXITED(status)) << limit;
    return std::pair{WEXITSTATUS(status), contents(said)};
  };
  const auto [unlimited, all] = run_with("--nproc=1000");
  if (unlimited != 0) GTEST_SKIP() << "SKIPPED: on this system a user without rights cannot run the program: " << all;
  int refused = 0;
  for (int threads = 1; threads < 8; ++threads) {
    const auto [status, said] = run_with("--nproc=" + std::to_string(threads));
    EXPECT_THAT(said, ::testing::Not(HasSubstr("a bug of ours"))) << threads;
    if (status == 0) continue;
    ++refused;
    EXPECT_THAT(said, HasSubstr("(ulimit -u)")) << threads;
    EXPECT_THAT(said, HasSubstr("raise the limit")) << threads;
  }
  EXPECT_GT(refused, 0);
  if (sanitized()) return;  // a sanitizer reserves terabytes of addresses
  for (int megabytes = 60; megabytes < 100; megabytes += 8) {
    const auto [status, said] = run_with("--as=" + std::to_string(megabytes) + "000000");
    EXPECT_THAT(said, ::testing::Not(HasSubstr("a bug of ours"))) << megabytes;
    // 127: the dynamic linker has no room for the program itself.
    EXPECT_THAT(status == 0 || status == 127 ? "(ulimit -v)" : said, HasSubstr("(ulimit -v)")) << megabytes;
  }
}

// Other libraries do not check whether they got memory, so a thread of a library may crash. That is rare, and its
// report names the limit, too.
TEST_F(PluginEnds, T_151_WantOfMemoryIsNamedWithTheLimitAndAStatusOfItsOwn) {
  if (sanitized()) GTEST_SKIP() << "SKIPPED: a sanitizer reserves terabytes of addresses";
  write_file(temp / "small.toml",
             "[run]\ndir = \"runs/one\"\nmax_steps = 3\nthreads = 4\n[input.train]\nplugin = \"digits\"\nbatch_size = "
             "128\n[input.eval]\nplugin = \"digits\"\nsplit = \"eval\"\nbatch_size = 500\nepochs = 1\n[model]\nplugin "
             "= \"mlp\"\nhidden = [256]\n[optimizer]\nname = \"adam\"\nlearning_rate = 0.001\n");
  int failed = 0, crashed = 0;
  for (int megabytes = 90; megabytes < 200; megabytes += 2) {
    start_over();
    const std::string said = temp / "said";
    const int status = std::system(("cd '" + temp.path() + "' && BELAY_PLUGIN_PATH=" + tested_build() +
                                    "/plugins prlimit --as=" + std::to_string(megabytes) + "000000 '" + tested_belay() +
                                    "' run small.toml > '" + said + "' 2>&1")
                                       .c_str());
    if (status == 0) continue;
    ++failed;
    const std::string words = contents(said);
    EXPECT_LT(WEXITSTATUS(status), 128) << megabytes << words;
    EXPECT_THAT(words, HasSubstr("(ulimit -v)")) << megabytes;
    if (words.find("belay crashed") == std::string::npos) continue;
    ++crashed;
    EXPECT_EQ(WEXITSTATUS(status), 1) << megabytes << words;
  }
  EXPECT_GT(failed, 0);
  EXPECT_LE(crashed, failed / 4);
}

TEST_F(PluginEnds, T_151_AnAllocationThatFailsWhereNothingCatchesItHasAStatus) {
  const ProcessResult r = run("hook.after_run", "thread_bad_alloc", "3");
  EXPECT_EQ(r.status, 1) << r.err;
  EXPECT_THAT(r.err, HasSubstr("belay was ended by an allocation that failed (std::bad_alloc) in plugin '" +
                               kEndsPlugins + "/ends.so'"));
  EXPECT_EQ(warnings_of_next_start(), "");
}

}  // namespace
}  // namespace belay::runtime::testing
