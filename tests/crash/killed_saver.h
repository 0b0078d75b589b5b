// SPDX-License-Identifier: Apache-2.0
// Starts save_loop, kills it, and keeps what it announced.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace belay::runtime {

class KilledSaver {
 public:
  KilledSaver(std::string directory, std::string saver) : directory_(std::move(directory)), saver_(std::move(saver)) {}

  // One life of the program, in a child process that `before_exec` prepares; `watch` gets its id, kills it or waits for
  // its end, and returns its wait status. Checks that it restored what the lives before announced.
  void live(const char* mode, const std::function<void()>& before_exec, const std::function<int(pid_t)>& watch) {
    int output[2];
    ASSERT_EQ(pipe(output), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      dup2(output[1], STDOUT_FILENO);
      close(output[0]), close(output[1]);
      setenv("ASAN_OPTIONS", "detect_leaks=0", 1);  // cannot look for leaks while it is traced
      before_exec();
      execl(BELAY_SAVE_LOOP, BELAY_SAVE_LOOP, directory_.c_str(), saver_.c_str(), mode, nullptr);
      _exit(127);
    }
    close(output[1]);
    output_ = output[0];
    const int status = watch(child);
    ASSERT_TRUE((WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) || (WIFEXITED(status) && WEXITSTATUS(status) == 0))
        << "wait status " << status;
    finished_ = WIFEXITED(status);
    take(read_all());
    close(output_);
  }

  // Waits for the line that says what was restored.
  void await_restored() {
    char c = 0;
    while (read(output_, &c, 1) == 1) {
      said_ += c;
      if (c == '\n') return;
    }
  }

  std::int64_t last_saved() const { return last_saved_; }
  bool finished() const { return finished_; }

 private:
  std::string read_all() {
    std::string text = std::exchange(said_, "");
    char buffer[4096];
    for (ssize_t n; (n = read(output_, buffer, sizeof(buffer))) > 0;) text.append(buffer, static_cast<std::size_t>(n));
    return text;
  }
  void take(const std::string& text) {
    std::istringstream lines(text);
    std::string word;
    for (std::int64_t step; lines >> word >> step;) {
      if (word == "restored") {
        EXPECT_GE(step, last_saved_) << "a saved step is lost";
      } else {
        last_saved_ = step;
      }
    }
  }

  std::string directory_, saver_;
  int output_ = -1;
  std::string said_;
  std::int64_t last_saved_ = -1;
  bool finished_ = false;
};

// Kills at random moments while it saves with that saver, so many times.
void kill_at_random_moments(const std::string& saver, int times, unsigned seed);
// Kills at every system call of two saves, one of them of a step that exists; returns their number.
void kill_at_every_system_call(const std::string& saver);

}  // namespace belay::runtime
