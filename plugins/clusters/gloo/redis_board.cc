// SPDX-License-Identifier: Apache-2.0
#include "redis_board.h"

#include <belay/error.h>
#include <unistd.h>

#include <random>
#include <thread>
#include <utility>

namespace belay_gloo {
namespace {

using belay::Code;
using std::chrono::milliseconds;

constexpr milliseconds kLease{5000};
constexpr milliseconds kBetweenRenewals{100};  // between two looks at rank 0's key, and two renewals of leases
constexpr milliseconds kBetweenQuestions{50};  // while a value is missing

long long count(milliseconds time) { return time.count(); }

// Returns a name that no other process has.
std::string name_of_process() {
  std::random_device random;
  return std::to_string(::getpid()) + "-" + std::to_string(random()) + "-" + std::to_string(random());
}

}  // namespace

RedisBoard::RedisBoard(Options options)
    : options_(std::move(options)),
      redis_(options_.address),
      finds_(options_.name.empty()),
      self_(name_of_process()),
      name_(options_.name),
      looked_(Clock::now()) {
  const std::string rank = std::to_string(options_.rank);
  if (options_.rank == 0)
    take({attempt_key(), name_,
          "another run meets as job '" + options_.job + "' at " + options_.address.url +
              "; give this one another name: rendezvous = \"redis://HOST:PORT/JOB\""});
  if (finds_) find_meeting(Clock::now() + options_.wait);
  take({key_of("seat-" + rank), self_,
        "rank " + rank + " of job '" + options_.job + "' at " + options_.address.url +
            " is there already: another process was started as this rank"});
}

RedisBoard::~RedisBoard() { forget(); }

void RedisBoard::pause() const {
  if (options_.stopping && options_.stopping())
    belay::fail(Code::kCancelled, "the run was stopped while other ranks were waited for");
  std::this_thread::sleep_for(kBetweenQuestions);
}

void RedisBoard::find_meeting(Clock::time_point end) {
  while ((name_ = redis_.get(attempt_key())).empty()) {
    if (Clock::now() > end)
      belay::fail(Code::kUnavailable, "rank 0 of " + std::to_string(options_.size) + " did not begin the job '" +
                                          options_.job + "' at " + options_.address.url);
    pause();
  }
}

// A lease of a process that died becomes free when its time is over. A process that runs keeps it.
void RedisBoard::take(Lease lease) {
  const Clock::time_point end = Clock::now() + kLease + kLease / 2;
  while (!redis_.set_new(lease.key, lease.value, count(kLease))) {
    if (Clock::now() > end) belay::fail(Code::kAlreadyExists, lease.taken);
    pause();
  }
  own_.push_back(lease.key);
  leases_.push_back(std::move(lease));
}

void RedisBoard::put(const std::string& name, const std::string& value) {
  constexpr milliseconds kLonger{60'000};
  const std::string key = key_of(name);
  redis_.set(key, value, count(std::chrono::duration_cast<milliseconds>(options_.wait) + kLonger));
  own_.push_back(key);
}

std::string RedisBoard::get(const std::string& name) { return redis_.get(key_of(name)); }

bool RedisBoard::is_over() { return finds_ && redis_.get(attempt_key()) != name_; }

void RedisBoard::look() {
  if (Clock::now() - looked_ < kBetweenRenewals) return;
  looked_ = Clock::now();
  if (is_over()) belay::fail(Code::kAborted, "rank 0 has ended or left");
  for (const Lease& lease : leases_)  // a lapsed lease was not renewed, for example while the process was stopped
    if (!redis_.keep(lease.key, count(kLease)) && !redis_.set_new(lease.key, lease.value, count(kLease)))
      belay::fail(Code::kAlreadyExists, lease.taken);
}

void RedisBoard::forget() noexcept {
  const std::vector<std::string> keys = std::exchange(own_, {});
  leases_.clear();
  try {
    for (const std::string& key : keys) redis_.remove(key);
  } catch (const belay::Error&) {  // they expire
  }
}

}  // namespace belay_gloo
