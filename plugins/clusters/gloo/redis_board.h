// SPDX-License-Identifier: Apache-2.0
// A board on a Redis server that all ranks reach. The ranks need no common directory.
//
//   belay:JOB:attempt          the name of this attempt's meeting; rank 0 sets it
//   belay:JOB:NAME:seat-1      the process that is rank 1
//   belay:JOB:NAME:...         the values that the ranks put there
//
// The first two are leases: a process that has died loses them within seconds. When all have met, each removes its
// keys, and the server is not needed any more. If a process dies before that, its keys expire.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "board.h"
#include "redis.h"

namespace belay_gloo {

class RedisBoard final : public Board {
 public:
  struct Options {
    RedisAddress address;
    std::string job;   // the same on all ranks; no other run meets under it at this time
    std::string name;  // the meeting's; empty: this rank waits for the one that rank 0 begins
    int rank = 0;
    int size = 1;
    std::chrono::nanoseconds wait{};
    std::function<bool()> stopping;  // ends the waiting
  };
  // FAILED_PRECONDITION: the server cannot be reached. ALREADY_EXISTS: another process is this rank, or another run
  // meets under this name. UNAVAILABLE: rank 0 did not begin. CANCELLED: the run stops.
  explicit RedisBoard(Options options);
  ~RedisBoard() override;
  void put(const std::string& name, const std::string& value) override;
  std::string get(const std::string& name) override;
  void look() override;
  void forget() noexcept override;

  // True if rank 0 has begun another meeting than this one.
  bool is_over();

 private:
  using Clock = std::chrono::steady_clock;
  struct Lease {
    std::string key, value, taken;  // taken: the message if another process has it
  };

  std::string attempt_key() const { return "belay:" + options_.job + ":attempt"; }
  std::string key_of(const std::string& name) const { return "belay:" + options_.job + ":" + name_ + ":" + name; }
  void find_meeting(Clock::time_point end);
  void take(Lease lease);
  void pause() const;

  const Options options_;
  Redis redis_;
  const bool finds_;  // true: looks for the meeting of rank 0
  const std::string self_;
  std::string name_;
  std::vector<Lease> leases_;
  std::vector<std::string> own_;  // keys, also those of the leases
  Clock::time_point looked_;
};

}  // namespace belay_gloo
