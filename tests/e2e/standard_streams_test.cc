// SPDX-License-Identifier: Apache-2.0
// Standard streams that are closed, full or gone.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "tests/e2e/run_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class StandardStreams : public RunTest {
 protected:
  // With these redirections, by a shell.
  ProcessResult redirected(const std::vector<std::string>& args, const std::string& redirections) const {
    std::string command = "BELAY_PLUGIN_PATH=" + tested_plugins() + " " + tested_belay();
    for (const std::string& a : args) command += " '" + a + "'";
    const int status = std::system((command + " 2>'" + (temp / "err") + "' " + redirections).c_str());
    ProcessResult r;
    r.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    r.err = contents(temp / "err");
    return r;
  }
};

// The requested output did not arrive.
TEST_F(StandardStreams, T_63a_OneWhereStdoutIsAFullDisk) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "there is no /dev/full here";
  const std::string manifest = regression("", "[input.eval]\nplugin = \"numbers\"\nexamples = 64\nepochs = 1\n");
  const std::vector<std::vector<std::string>> commands = {
      {"--version"},
      {"--help"},
      {"run", "--help"},
      {"check", manifest},
      {"show", manifest},
      {"graph", manifest},
      {"plugins"},
      {"plugins", "--json"},
      {"describe", "numbers"},
      {"schema"},
      {"validate", BELAY_BINARY_DIR "/tests/e2e/plugins/numbers.so"},
      {"run", "--dry-run", manifest},
      {"run", manifest}};
  for (const std::vector<std::string>& command : commands) {
    const ProcessResult r = redirected(command, ">/dev/full");
    EXPECT_EQ(r.status, 1) << command[0] << ": " << r.err;
    EXPECT_EQ(lines_with(r.err, "the output is not complete: cannot write to stdout: No space left on device").size(),
              1u)
        << command[0] << ": " << r.err;
  }
  EXPECT_FALSE(weights(run_dir(), 50).empty()) << "what was trained is saved all the same";
}

TEST_F(StandardStreams, T_63a_AFullDiskUnderStdoutDoesNotHideAnotherStatus) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "there is no /dev/full here";
  EXPECT_EQ(redirected({"run", regression("bach_size = 3\n")}, ">/dev/full").status, 2);
}

// Otherwise the run's files get the numbers 0 to 2, and what is written for people goes into them.
TEST_F(StandardStreams, T_52_ARunWithClosedStandardDescriptorsWritesIntoNoneOfItsFiles) {
  const std::string manifest = regression("delay_secs = 0.01\n", "[session]\nsave_summaries_steps = 1\n", 100000);
  const std::string script = "exec 0<&- 1>&- 2>&-; exec '" + tested_belay() + "' run '" + manifest + "'";
  const pid_t pid = fork();
  if (pid == 0) {
    setenv("BELAY_PLUGIN_PATH", tested_plugins().c_str(), 1);
    execl("/bin/sh", "sh", "-c", script.c_str(), nullptr);
    _exit(126);
  }
  const auto descriptor = [&](int fd) {
    std::error_code none;
    return std::filesystem::read_symlink("/proc/" + std::to_string(pid) + "/fd/" + std::to_string(fd), none).string();
  };
  for (int i = 0; i < 3000 && !std::filesystem::exists(run_dir() + "/model.ckpt-0"); ++i) usleep(10'000);
  for (int fd = 0; fd < 3; ++fd) EXPECT_EQ(descriptor(fd), "/dev/null") << fd;
  kill(pid, SIGQUIT);
  usleep(200'000);  // stacks are written on another thread
  kill(pid, SIGTERM);
  int status = 0;
  waitpid(pid, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  for (const auto& entry : std::filesystem::directory_iterator(run_dir()))
    EXPECT_EQ(contents(entry.path()).find("thread "), std::string::npos) << entry.path();
}

TEST_F(StandardStreams, AClosedStderrDoesNotEndTheRun) {
  const std::string command = "BELAY_PLUGIN_PATH=" + tested_plugins() + " " + tested_belay() + " run " +
                              regression("", "", 200) + " 2>&1 >&- | head -1 >/dev/null";
  ASSERT_EQ(std::system(command.c_str()), 0);
  EXPECT_FALSE(weights(run_dir(), 200).empty());
}

// F34
TEST_F(StandardStreams, AHangupSavesAndEndsARunOfATerminalAndNoOther) {
  const std::string endless = regression("delay_secs = 0.001\n", "[checkpoint]\nsave_secs = 3600\n", 1'000'000'000);
  const std::string log = temp / "log";
  const auto await = [&](const char* text) {
    for (int i = 0; i < 6000 && contents(log).find(text) == std::string::npos; ++i) usleep(10'000);
    return contents(log).find(text) != std::string::npos;
  };
  const auto start = [&](int& terminal) {
    const pid_t pid = ::forkpty(&terminal, nullptr, nullptr, nullptr);
    if (pid == 0) {
      const int err = ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
      ::dup2(err, STDERR_FILENO);
      setenv("BELAY_PLUGIN_PATH", tested_plugins().c_str(), 1);
      setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
      execl(tested_belay().c_str(), "belay", "run", endless.c_str(), nullptr);
      _exit(126);
    }
    return pid;
  };
  int terminal = -1, status = 0;
  const pid_t watched = start(terminal);
  ASSERT_TRUE(await("model.ckpt-0\n") && await("progress: step ")) << contents(log);
  ::close(terminal);  // the window is closed
  ASSERT_EQ(::waitpid(watched, &status, 0), watched);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGHUP) << status << contents(log);
  EXPECT_EQ(lines_with(contents(log), "SIGHUP: the run ends").size(), 1u) << contents(log);
  EXPECT_EQ(lines_with(contents(log), "info saved " + run_dir() + "/model.ckpt-").size(), 2u)
      << "that of the start, and one at the end: " << contents(log);

  BelayProcess other({"run", endless});  // its stdin is /dev/null
  ASSERT_TRUE(other.wait_for("restored step"));
  other.kill(SIGHUP);
  other.kill(SIGUSR2);  // taken after it
  EXPECT_TRUE(other.wait_for("info saved ")) << "it goes on";
  other.kill(SIGTERM);
  const ProcessResult r = other.wait();
  EXPECT_EQ(r.signal, SIGTERM) << r.err;
  EXPECT_THAT(r.err, Not(HasSubstr("SIGHUP"))) << r.err;
}

}  // namespace
}  // namespace belay::runtime::testing
