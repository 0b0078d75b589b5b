// SPDX-License-Identifier: Apache-2.0
// Lets the ranks of one process meet and read each other's tensors. Each rank has separate threads.
#pragma once

#include <belay/error.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace belay_local {

// One side of a call: its name and its tensor.
struct Part {
  std::string what;  // "all_reduce of float32": the same on all sides
  const void* data = nullptr;
  std::size_t bytes = 0;
};

// Names a call: the sides with the same key meet.
struct CallKey {
  std::uint32_t tag = 0;
  int from = -1, to = -1;  // for send and receive
  friend bool operator<(const CallKey& a, const CallKey& b) {
    return std::tie(a.tag, a.from, a.to) < std::tie(b.tag, b.from, b.to);
  }
};

class Meeting {
 public:
  Meeting(std::vector<int> names) : names_(std::move(names)), here_(names_.size()) {}
  // Returns the meeting of that name. The first caller makes it.
  static std::shared_ptr<Meeting> of(const std::string& name, const std::vector<int>& names);

  int size() const noexcept { return static_cast<int>(names_.size()); }
  const std::vector<int>& names() const noexcept { return names_; }

  // Waits until all ranks are here. UNAVAILABLE names those that are missing.
  void join(int rank, std::chrono::nanoseconds wait, const std::function<bool()>& stopping);
  // Lets all calls of the others fail from now on.
  void leave(int rank);
  // Ends the rank's calls with CANCELLED.
  void abort(int rank);

  // Joins a call as side `index` of `sides`. Waits for the others, calls `read` with all parts, and waits until all
  // have read. INVALID_ARGUMENT: the parts do not fit. ABORTED: a rank has left. `limit`: 0: none.
  void exchange(int rank, const CallKey& key, int index, int sides, const Part& part, std::chrono::nanoseconds limit,
                const std::function<void(const std::vector<Part>&)>& read);

 private:
  struct Exchange {
    std::vector<Part> parts;
    int arrived = 0, done = 0;
    std::uint64_t round = 0;
    bool reading = false;
    std::vector<int> waiting;  // ranks that have arrived
  };
  enum class Seat { kEmpty, kTaken, kAborted };
  template <class P>
  void wait(std::unique_lock<std::mutex>& lock, int rank, std::chrono::nanoseconds limit, P&& over);
  static void check(const std::vector<Part>& parts, const std::vector<int>& ranks);

  const std::vector<int> names_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Seat> here_;
  std::optional<belay::Error> failure_;
  std::map<CallKey, Exchange> calls_;
};

}  // namespace belay_local
