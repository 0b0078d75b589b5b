// SPDX-License-Identifier: Apache-2.0
// A redis-server of a test's own, on loopback.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>

namespace belay::runtime::testing {

class RedisServer {
 public:
  static constexpr const char* kProgram = "/usr/bin/redis-server";
  static bool is_installed() { return ::access(kProgram, X_OK) == 0; }

  // `password`: empty where it wants none.
  explicit RedisServer(const std::string& folder, std::string password = "") : password_(std::move(password)) {
    for (int tries = 0; tries < 20 && pid_ < 0; ++tries) start(folder);
    EXPECT_GE(pid_, 0) << "redis-server does not start";
  }
  ~RedisServer() { kill(); }
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;

  int port() const noexcept { return port_; }
  std::string url(const std::string& job) const { return "redis://127.0.0.1:" + std::to_string(port_) + "/" + job; }
  void kill() {
    if (pid_ < 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  // The answer to a command as it comes: ":0\r\n"; empty: the server is not there.
  std::string ask(const std::string& command) const {
    const int line = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    std::string answer;
    const sockaddr_in place = address(port_);
    if (::connect(line, reinterpret_cast<const sockaddr*>(&place), sizeof(place)) == 0) {
      const std::string text = command + "\r\n";
      char room[512];
      if (::send(line, text.data(), text.size(), MSG_NOSIGNAL) > 0)
        if (const ssize_t n = ::recv(line, room, sizeof(room), 0); n > 0)
          answer.assign(room, static_cast<std::size_t>(n));
    }
    ::close(line);
    return answer;
  }

 private:
  static sockaddr_in address(int port) {
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_port = htons(static_cast<std::uint16_t>(port));
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return place;
  }
  // One that is free now; another program may take it, and then another one is tried.
  static int free_port() {
    const int line = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in place = address(0);
    socklen_t size = sizeof(place);
    ::bind(line, reinterpret_cast<const sockaddr*>(&place), size);
    ::getsockname(line, reinterpret_cast<sockaddr*>(&place), &size);
    ::close(line);
    return ntohs(place.sin_port);
  }
  void start(const std::string& folder) {
    port_ = free_port();
    const std::string port = std::to_string(port_);
    const pid_t test = ::getpid();
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != test) ::_exit(8);
      const char* secret = password_.empty() ? nullptr : "--requirepass";
      ::execl(kProgram, kProgram, "--port", port.c_str(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
              "--dir", folder.c_str(), "--logfile", "redis.log", secret, password_.c_str(), nullptr);
      ::_exit(9);
    }
    for (int looks = 0; looks < 1000; ++looks) {
      if (const std::string said = ask("PING"); said.starts_with("+PONG") || said.starts_with("-NOAUTH")) return;
      if (::waitpid(pid_, nullptr, WNOHANG) == pid_) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    kill();
    pid_ = -1;
  }

  const std::string password_;
  int port_ = 0;
  pid_t pid_ = -1;
};

}  // namespace belay::runtime::testing
