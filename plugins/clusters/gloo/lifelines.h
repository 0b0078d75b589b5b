// SPDX-License-Identifier: Apache-2.0
// Knows whether the other ranks are alive. It has a connection to each of them, only for signs of life.
//
// While ranks meet, each listens at a port, and a stranger may connect to it. The hello of a rank has a token. The
// listening rank has left this token on the board beside its address. A caller without it takes no rank's seat, and a
// silent one delays no other.
//
// Gloo notices a broken connection, but not the rank at fault. It cannot distinguish a computing rank from one on a
// hanging machine. Here a thread sends a sign of life to each rank four times in the timeout, also while the process
// computes. A rank has failed if its connection breaks, or if it is silent for the timeout. The first failure is sent
// to the other ranks, so all name the same rank.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "board.h"

namespace belay_gloo {

// Owns a file descriptor and closes it.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) noexcept : fd_(fd) {}
  ~Descriptor();
  Descriptor(Descriptor&& o) noexcept : fd_(o.fd_) { o.fd_ = -1; }
  Descriptor& operator=(Descriptor&& o) noexcept {
    std::swap(fd_, o.fd_);
    return *this;
  }
  int get() const noexcept { return fd_; }

 private:
  int fd_;
};

class Lifelines {
 public:
  struct Options {
    int rank = 0;
    int size = 1;
    std::string interface;
    Board* board = nullptr;  // takes each rank's address; borrowed until they have met
    std::chrono::nanoseconds wait{};
    std::chrono::nanoseconds timeout{};
    std::function<bool()> stopping;  // ends the waiting
  };
  // Meets all other ranks. UNAVAILABLE names those that are missing. CANCELLED: `stopping` returned true. ABORTED: a
  // rank refuses this one. INVALID_ARGUMENT: a rank was started with another number of ranks. A separate thread calls
  // `on_failure` once.
  Lifelines(const Options& options, std::function<void()> on_failure);
  ~Lifelines();
  Lifelines(const Lifelines&) = delete;
  Lifelines& operator=(const Lifelines&) = delete;

  // Announces that this rank leaves, and waits a moment for the others' announcement. Ranks that leave together
  // complete their last call so.
  void leave();
  // Returns "rank 1 has ended or left"; empty: all are alive. Waits at most `wait` for a failure.
  std::string failure(std::chrono::milliseconds wait = {}) const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Message {
    std::int32_t kind, rank;
  };
  using Token = std::array<char, 32>;
  struct Hello {
    Message message;
    std::int32_t size;  // the number of ranks that the caller was started with
    Token token;        // the token of the listening rank
  };
  // A connection to this rank whose hello is not complete.
  struct Caller {
    Descriptor line;
    char part[sizeof(Hello)] = {};
    std::size_t have = 0;
  };
  struct Peer {
    int rank = -1;
    Descriptor line;
    Clock::time_point seen;
    Clock::time_point left;  // when it announced it; the epoch: it has not
    char part[sizeof(Message)] = {};
    std::size_t have = 0;
    bool gone = false;
  };

  void meet();
  void connect_to(int rank, Clock::time_point end);
  bool is_welcome(int line, int rank, Clock::time_point end) const;
  void accept_all(int listening, Clock::time_point end);
  bool is_over(Caller& caller, std::vector<int>& missing);
  void greet(Caller& caller, std::vector<int>& missing);
  void add_peer(int rank, Descriptor line);
  [[noreturn]] void fail_other_size(int rank, int size) const;
  [[noreturn]] void fail_missing(const std::vector<int>& ranks) const;
  void check_stopping() const;
  void watch();
  void read(Peer& peer);
  void take(Peer& peer, const Message& message);
  std::string silence_of(int rank) const;
  void look_at_times();
  void send_to_all(const Message& message);
  void fail(const std::string& why, int rank, std::int32_t kind);

  const Options options_;
  const std::function<void()> on_failure_;
  Token token_;       // the token of this rank's port
  int refused_ = -1;  // the rank that a caller without the token claimed to be; -1: none
  std::vector<Peer> peers_;
  Descriptor wake_;
  mutable std::mutex mutex_;  // guards the members below
  mutable std::condition_variable changed_;
  std::string failure_;
  bool leaving_ = false;
  std::atomic<bool> over_{false};
  std::thread thread_;
};

}  // namespace belay_gloo
