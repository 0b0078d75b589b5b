// SPDX-License-Identifier: Apache-2.0
// Keys of a Redis server, which all ranks reach. They need no directory that all of them see.
//
//   belay:JOB:attempt          the name of this attempt's meeting; the chief's
//   belay:JOB:NAME:seat-1      the process that is rank 1
//   belay:JOB:NAME:...         what the ranks put there
//
// The first two are leases: a process that has died loses them within seconds. When all have met, each removes its own
// keys, and the server is not needed any more; those of a process that died in between expire.
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
    std::string job;   // the same on all ranks, and of no other run that meets at the time
    std::string name;  // of the meeting; empty: the one that rank 0 has begun, for which a rank waits
    int rank = 0;
    int size = 1;
    std::chrono::nanoseconds wait{};
    std::function<bool()> stopping;  // ends the waiting
  };
  // FAILED_PRECONDITION: the server cannot be reached. ALREADY_EXISTS: another process is this rank, or another run is
  // meeting under this name. UNAVAILABLE: rank 0 did not begin. CANCELLED.
  explicit RedisBoard(Options options);
  ~RedisBoard() override;
  void put(const std::string& name, const std::string& value) override;
  std::string get(const std::string& name) override;
  void look() override;
  void forget() noexcept override;

  // Whether rank 0 has begun another meeting than the one that this was made for.
  bool is_over();

 private:
  using Clock = std::chrono::steady_clock;
  struct Lease {
    std::string key, value, taken;  // what to say where another process has it
  };

  std::string attempt_key() const { return "belay:" + options_.job + ":attempt"; }
  std::string key_of(const std::string& name) const { return "belay:" + options_.job + ":" + name_ + ":" + name; }
  void find_meeting(Clock::time_point end);
  void take(Lease lease);
  void pause() const;

  const Options options_;
  Redis redis_;
  const bool finds_;  // the meeting of rank 0
  const std::string self_;
  std::string name_;
  std::vector<Lease> leases_;
  std::vector<std::string> own_;  // keys, those of the leases too
  Clock::time_point looked_;
};

}  // namespace belay_gloo
