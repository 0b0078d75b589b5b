// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/belay_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <utility>

extern char** environ;

namespace belay::runtime::testing {
namespace {

std::string variable(const char* name, std::string otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr || *value == '\0' ? std::move(otherwise) : value;
}

}  // namespace

const std::string& tested_build() {
  static const std::string build = variable("BELAY_TEST_BUILD", BELAY_BINARY_DIR);
  return build;
}

std::string tested_belay() { return tested_build() + "/bin/belay"; }

std::string tested_plugins() { return tested_build() + "/plugins:" BELAY_BINARY_DIR "/tests/e2e/plugins"; }

bool sanitized(std::string_view by) {
  static const std::string sanitizer = variable("BELAY_TEST_SANITIZER", "");
  return by.empty() ? !sanitizer.empty() : sanitizer == by;
}

BelayProcess::BelayProcess(std::vector<std::string> args, const std::vector<std::string>& variables) {
  int out[2], err[2];
  if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0) throw std::runtime_error("pipe2 failed");
  args.insert(args.begin(), tested_belay());
  std::vector<std::string> environment = variables;
  // If a name occurs twice, a program takes the first.
  environment.push_back("BELAY_PLUGIN_PATH=" + tested_plugins());
  // LeakSanitizer's look at the end of a process crashes now and then on threads that end at that moment; leaks of the
  // same code show in the tests that link it.
  if (sanitized("address")) environment.emplace_back("ASAN_OPTIONS=detect_leaks=0");
  for (char** e = environ; *e != nullptr; ++e) environment.emplace_back(*e);
  std::vector<char*> argv, envp;
  for (std::string& a : args) argv.push_back(a.data());
  for (std::string& e : environment) envp.push_back(e.data());
  argv.push_back(nullptr);
  envp.push_back(nullptr);
  pid_ = fork();
  if (pid_ == 0) {
    dup2(open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    dup2(err[1], STDERR_FILENO);
    execve(argv[0], argv.data(), envp.data());
    _exit(126);
  }
  close(out[1]);
  close(err[1]);
  out_ = out[0];
  err_ = err[0];
}

BelayProcess::~BelayProcess() {
  if (!ended_) {
    ::kill(pid_, SIGKILL);
    wait();
  }
  close(out_);
  close(err_);
}

void BelayProcess::kill(int signal) const { ::kill(pid_, signal); }

void BelayProcess::drain(bool block) {
  pollfd fds[2] = {{out_, POLLIN, 0}, {err_, POLLIN, 0}};
  poll(fds, 2, block ? 10 : 0);
  char buffer[65536];
  if ((fds[0].revents & (POLLIN | POLLHUP)) != 0) {
    const ssize_t n = read(out_, buffer, sizeof(buffer));
    if (n > 0) result_.out.append(buffer, static_cast<std::size_t>(n));
  }
  if ((fds[1].revents & (POLLIN | POLLHUP)) != 0) {
    const ssize_t n = read(err_, buffer, sizeof(buffer));
    if (n > 0) result_.err.append(buffer, static_cast<std::size_t>(n));
  }
}

bool BelayProcess::wait_until(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    siginfo_t info{};
    const bool gone =
        waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid_;
    drain(true);
    if (gone && !condition()) return false;
  }
  return true;
}

bool BelayProcess::wait_for(const std::string& text) {
  return wait_until([&] { return result_.err.find(text) != std::string::npos; });
}

ProcessResult BelayProcess::wait() {
  if (ended_) return result_;
  int status = 0;
  while (waitpid(pid_, &status, WNOHANG) == 0) drain(true);
  for (std::size_t before = 1; before != 0;) {
    const std::size_t size = result_.out.size() + result_.err.size();
    drain(false);
    before = result_.out.size() + result_.err.size() - size;
  }
  ended_ = true;
  if (WIFSIGNALED(status)) {
    result_.signal = WTERMSIG(status);
    result_.status = 128 + result_.signal;
  } else {
    result_.status = WEXITSTATUS(status);
  }
  return result_;
}

ProcessResult belay(std::vector<std::string> args, const std::vector<std::string>& variables) {
  return BelayProcess(std::move(args), variables).wait();
}

std::vector<std::string> commands_with(const std::string& text) {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos || name == std::to_string(getpid())) continue;
    std::string command = contents(entry.path() / "cmdline");  // of one that has ended, and is not waited for: empty
    std::replace(command.begin(), command.end(), '\0', ' ');
    if (command.find(text) != std::string::npos) found.push_back(name + " " + command);
  }
  return found;
}

std::string contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
}

std::string without_times(const std::string& log) {
  // Whether `at` begins with a text of this form, in which 0 is any digit.
  const auto has = [&log](std::size_t at, std::string_view form) {
    if (log.size() - at < form.size()) return false;
    for (std::size_t i = 0; i < form.size(); ++i) {
      const char c = log[at + i];
      if (form[i] == '0' ? c < '0' || c > '9' : c != form[i]) return false;
    }
    return true;
  };
  constexpr std::string_view kDate = "0000-00-00 ", kTime = "00:00:00.000 ";
  std::string text;
  for (std::size_t at = 0; at < log.size();) {
    const std::size_t time = has(at, kDate) ? at + kDate.size() : at;
    if (has(time, kTime)) at = time + kTime.size();
    const std::size_t end = std::min(log.find('\n', at), log.size() - 1) + 1;
    text.append(log, at, end - at);
    at = end;
  }
  return text;
}

std::vector<std::string> lines_with(const std::string& text, const std::string& part) {
  std::vector<std::string> found;
  const bool of_progress = part.find("progress") != part.npos;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.find(part) != line.npos && (of_progress || line.find(" progress: step ") == line.npos))
      found.push_back(line);
  return found;
}

}  // namespace belay::runtime::testing
