// SPDX-License-Identifier: Apache-2.0
#include "runtime/monitored/run/attempt_mark.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "runtime/checkpoint/format/names.h"
#include "runtime/monitored/run/run_directory.h"
#include "runtime/platform/process/last_word.h"
#include "tests/monitored/monitored_fixture.h"
#include "tests/platform/faulty_file_system.h"
#include "tests/platform/temp_dir.h"

namespace belay::runtime::testing {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

class AttemptMarks : public MonitoredTest {
 protected:
  // The mark of an attempt that `work` is, in a process that ends without a word.
  void attempt(const std::function<void(AttemptMark&)>& work) {
    const pid_t child = ::fork();
    if (child == 0) {
      AttemptMark mark(*run, "host h, pid 7, since then");
      work(mark);
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
  }
  static std::uint64_t call(std::uint32_t name, Callback callback) {
    return name * std::uint64_t{256} + callback.number();
  }

  TempDir temp;
  std::unique_ptr<OpenDirectory> run = posix_file_system().make_directories(temp / "run");
};

TEST_F(AttemptMarks, T_20m_WhatWasBeingCalledIsReadFromTheMark) {
  attempt([](AttemptMark& mark) {
    mark.name("hook \"a\" (a.so 1)");
    const std::uint32_t b = mark.name("hook \"b\" (b.so 1)");
    mark.place(0)->step = 17;
    mark.place(0)->call = call(b, "after_run");
  });
  EXPECT_EQ(
      AttemptMark::last_attempt(*run),
      "the attempt before (host h, pid 7, since then) ended without a word, in hook \"b\" (b.so 1) in after_run at "
      "step 17: it was killed, or the plugin ended the process (_exit, exec)");
}

TEST_F(AttemptMarks, SeveralThreadsAreTold) {
  attempt([](AttemptMark& mark) {
    mark.place(0)->call = call(mark.name("hook \"a\""), "before_run");
    mark.place(1)->call = call(mark.name("input \"train\""), "next");
  });
  EXPECT_THAT(AttemptMark::last_attempt(*run), HasSubstr(", in hook \"a\" in before_run; input \"train\" in next: "));
}

TEST_F(AttemptMarks, T_133_AnInputThatReadsAheadIsNotBlamed) {
  attempt([](AttemptMark& mark) {
    mark.place(0)->step = 3;
    mark.place(1)->call = call(mark.name("input \"train\""), "next");
  });
  EXPECT_THAT(AttemptMark::last_attempt(*run),
              HasSubstr("ended without a word, at step 3: it was killed, most likely; what ran beside the steps, input "
                        "\"train\" in next, ended the process only if that plugin calls _exit or exec"));
}

TEST_F(AttemptMarks, BetweenTwoCallsTheStepIsTold) {
  attempt([](AttemptMark& mark) { mark.place(0)->step = 3; });
  EXPECT_THAT(AttemptMark::last_attempt(*run),
              HasSubstr(", at step 3, when no plugin was being called: it was killed, or a thread of a plugin ended"));
}

TEST_F(AttemptMarks, OneWhoseAttemptEndedOrSaidWhyIsGone) {
  { AttemptMark mark(*run, "a"); }
  EXPECT_FALSE(run->exists(kAttemptName));
  EXPECT_EQ(AttemptMark::last_attempt(*run), "");
  attempt([](AttemptMark&) { say_last_word(); });
  EXPECT_FALSE(run->exists(kAttemptName));
}

TEST_F(AttemptMarks, OneOfAnAttemptThatRunsSaysNothing) {
  const AttemptMark mark(*run, "a");
  EXPECT_TRUE(run->exists(kAttemptName));
  EXPECT_EQ(AttemptMark::last_attempt(*run), "");
}

TEST_F(AttemptMarks, WhatIsNoMarkSaysNothing) {
  EXPECT_EQ(AttemptMark::last_attempt(*run), "");
  for (const std::string& text : {std::string(), std::string("belay attempt 1\n"), std::string(5000, 'x'),
                                  "belay attempt 1\n" + std::string(4080, '\0')}) {
    std::ofstream(temp / "run/attempt", std::ios::binary | std::ios::trunc) << text;
    EXPECT_EQ(AttemptMark::last_attempt(*run), "");
  }
}

TEST_F(AttemptMarks, WhatTheAttemptMadeIsTakenAwayAgainUntilItHasBegun) {
  for (const bool begun : {false, true}) {
    {
      RunDirectory made = RunDirectory::open(posix_file_system(), temp / "a/b/c", clock, *log);
      ASSERT_NE(made.mark_attempt(clock, *log), nullptr);
      EXPECT_TRUE(fs::exists(temp / "a/b/c/attempt"));
      if (begun) made.keep();
    }
    EXPECT_EQ(fs::exists(temp / "a"), begun);
    EXPECT_FALSE(fs::exists(temp / "a/b/c/attempt"));
  }
  // A directory that was there stays, with what is in it.
  RunDirectory::open(posix_file_system(), temp / "a/b/c", clock, *log).mark_attempt(clock, *log);
  EXPECT_TRUE(fs::exists(temp / "a/b/c/lock"));
}

TEST_F(AttemptMarks, T_20q_TheMarkOfAnotherRunInItsPlaceStays) {
  {
    AttemptMark mark(*run, "a");
    run->remove(kAttemptName);
    std::ofstream(temp / "run/attempt") << "another's";
  }
  EXPECT_EQ(run->read(kAttemptName, 100), "another's");
}

TEST_F(AttemptMarks, T_20q_TheLockOfARunThatTookTheDirectoryOverStays) {
  auto lost = std::make_unique<RunDirectory>(RunDirectory::open(posix_file_system(), temp / "a/b", clock, *log));
  ASSERT_NE(lost->mark_attempt(clock, *log), nullptr);
  fs::remove(temp / "a/b/lock");
  const RunDirectory other = RunDirectory::open(posix_file_system(), temp / "a/b", clock, *log);
  lost = nullptr;
  EXPECT_TRUE(fs::exists(temp / "a/b/lock"));
}

TEST_F(AttemptMarks, T_20n_ADiskWithoutRoomIsAWarningAndNoMark) {
  FaultyFileSystem files(posix_file_system());
  files.fail(FileCall::kCreate, 1, Error(Code::kResourceExhausted, "No space left on device"));
  RunDirectory full = RunDirectory::open(files, temp / "full", clock, *log);
  EXPECT_EQ(full.mark_attempt(clock, *log), nullptr);
  EXPECT_TRUE(logged("this attempt is not marked (No space left on device)")) << log_text;
}

TEST_F(AttemptMarks, T_20o_AStoreIntoAPageThatIsLostIsNoCrashAfterItWasReplaced) {
  AttemptMark mark(*run, "a");
  fs::resize_file(temp / "run/attempt", 0);
  EXPECT_FALSE(replace_lost_page(&mark));
  EXPECT_TRUE(replace_lost_page(mark.place(0)));
  mark.place(0)->call = 1;  // SIGBUS without that
  EXPECT_EQ(mark.place(0)->call, 1u);
}

TEST_F(AttemptMarks, TheNextStartTellsOnceAndMakesItsOwn) {
  attempt([](AttemptMark& mark) { mark.place(0)->call = call(mark.name("hook \"a\""), "end"); });
  { RunDirectory next = RunDirectory::open(posix_file_system(), temp / "run", clock, *log); }
  EXPECT_TRUE(logged("ended without a word, in hook ")) << log_text;
  EXPECT_FALSE(run->exists(kAttemptName));
}

}  // namespace
}  // namespace belay::runtime::testing
