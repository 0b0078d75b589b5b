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
  // `last_saved`: what was announced of that directory before; -1: nothing.
  KilledSaver(std::string directory, std::string saver, std::int64_t last_saved = -1)
      : directory_(std::move(directory)), saver_(std::move(saver)), last_saved_(last_saved) {}

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

  // Waits for the line about the restored checkpoint.
  void await_restored() {
    char c = 0;
    while (read(output_, &c, 1) == 1) {
      said_ += c;
      if (c == '\n') return;
    }
  }

  std::int64_t last_saved() const { return last_saved_; }
  // Whether the directory has files that a save leaves between its first write and its last rename. Files that
  // retention was removing have a step that was announced.
  bool is_in_save() const;
  bool finished() const { return finished_; }
  int failed_saves() const { return failed_saves_; }  // of the last life

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
        failed_saves_ = 0;
      } else if (word == "failed") {
        ++failed_saves_;
      } else {
        last_saved_ = step;
      }
    }
  }

  std::string directory_, saver_;
  int output_ = -1;
  std::string said_;
  std::int64_t last_saved_;
  bool finished_ = false;
  int failed_saves_ = 0;
};

// Lets a life "once" continue from the place where it stops itself, to its end. Returns its wait status.
int run_to_end(pid_t child);

// Kills at random moments while it saves with that saver, so many times; returns how many of them came between a save's
// first write and its last rename.
int kill_at_random_moments(const std::string& saver, int times, unsigned seed);
// Kills at every system call of two saves, one of them of a step that exists; returns their number.
void kill_at_every_system_call(const std::string& saver);
// Each system call of two saves fails or transfers a single byte: with each error of a disk (`each_error`), else with
// another one at each call. The process continues, nothing that was announced is lost, and the next saves succeed.
void disturb_every_system_call(const std::string& saver, bool each_error);

}  // namespace belay::runtime
