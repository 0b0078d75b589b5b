// SPDX-License-Identifier: Apache-2.0
// The real `belay`, started as a user would: its output, its exit status, signals to it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::runtime::testing {

struct ProcessResult {
  int status = -1;  // exit status; 128 + n where it died of signal n
  int signal = 0;   // that it died of; 0: none
  std::string out;
  std::string err;
};

// The build that the tests run: this program's, or the one that the variable BELAY_TEST_BUILD names. So programs that
// are compiled once test each build. The tests' plugins are always those of this program's build.
const std::string& tested_build();
std::string tested_belay();    // its `belay`
std::string tested_plugins();  // its plugins and the tests' ones, as BELAY_PLUGIN_PATH has them
// Whether that build has a sanitizer, or the given one (address, thread). BELAY_TEST_SANITIZER names it.
bool sanitized(std::string_view by = {});

class BelayProcess {
 public:
  // Its stdin is /dev/null. Environment: this process's, plus BELAY_PLUGIN_PATH = tested_plugins(), plus `variables`,
  // which take the place of those of their names.
  BelayProcess(std::vector<std::string> args, const std::vector<std::string>& variables = {});
  ~BelayProcess();
  BelayProcess(const BelayProcess&) = delete;
  BelayProcess& operator=(const BelayProcess&) = delete;

  void kill(int signal) const;
  // Waits until stderr holds `text`; false where the process ended before, or a minute passed.
  bool wait_for(const std::string& text);
  bool wait_until(const std::function<bool()>& condition);
  ProcessResult wait();
  pid_t pid() const { return pid_; }

 private:
  void drain(bool block);
  pid_t pid_ = -1;
  int out_ = -1, err_ = -1;
  bool ended_ = false;
  ProcessResult result_;
};

// Runs to the end.
ProcessResult belay(std::vector<std::string> args, const std::vector<std::string>& variables = {});

// The command lines of processes of this machine that hold `text`, but for this process's own.
std::vector<std::string> commands_with(const std::string& text);
// All of a file; empty where it does not exist.
std::string contents(const std::string& path);
void write_file(const std::string& path, const std::string& text);
// A log without the times (and dates) that its lines begin with.
std::string without_times(const std::string& log);
// Lines of `text` that hold `part`, without those of progress, which name each metric ("mean_absolute_error
// 0.3"), unless the part is about them.
std::vector<std::string> lines_with(const std::string& text, const std::string& part);

}  // namespace belay::runtime::testing
