// SPDX-License-Identifier: Apache-2.0
#include "meeting.h"

#include <algorithm>

namespace belay_local {
namespace {

using belay::Code;
using belay::Error;
using belay::fail;
using Clock = std::chrono::steady_clock;

std::string rank_text(int rank) { return "rank " + std::to_string(rank); }

}  // namespace

std::shared_ptr<Meeting> Meeting::of(const std::string& name, const std::vector<int>& names) {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<Meeting>> all;
  const std::lock_guard lock(mutex);
  for (auto it = all.begin(); it != all.end();) it = it->second.expired() ? all.erase(it) : std::next(it);
  std::shared_ptr<Meeting> known = all[name].lock();
  if (known == nullptr) all[name] = known = std::make_shared<Meeting>(names);
  if (known->names_ != names)
    fail(Code::kInvalidArgument, "the ranks differ on how many they are: " + std::to_string(known->size()) + " and " +
                                     std::to_string(names.size()));
  return known;
}

void Meeting::join(int rank, std::chrono::nanoseconds limit, const std::function<bool()>& stopping) {
  std::unique_lock lock(mutex_);
  Seat& seat = here_[static_cast<std::size_t>(rank)];
  if (seat != Seat::kEmpty)
    fail(Code::kUnavailable, rank_text(names_[static_cast<std::size_t>(rank)]) + " is there already");
  seat = Seat::kTaken;
  changed_.notify_all();
  const auto end = Clock::now() + limit;
  const auto complete = [&] {
    return failure_ || std::none_of(here_.begin(), here_.end(), [](Seat s) { return s == Seat::kEmpty; });
  };
  while (!complete()) {
    constexpr std::chrono::milliseconds kBetweenLooks{20};  // at `stopping`
    changed_.wait_for(lock, kBetweenLooks, complete);
    const bool stopped = stopping();
    if (complete() || (!stopped && Clock::now() < end)) continue;
    seat = Seat::kEmpty;
    if (stopped) fail(Code::kCancelled, "the run was stopped while other ranks were waited for");
    std::string missing;
    for (std::size_t r = 0; r < here_.size(); ++r)
      if (here_[r] == Seat::kEmpty && static_cast<int>(r) != rank)
        missing += (missing.empty() ? "rank " : ", ") + std::to_string(names_[r]);
    fail(Code::kUnavailable, missing + " of " + std::to_string(size()) + " is not in this process: it did not come");
  }
  if (failure_) throw Error(*failure_);
}

void Meeting::leave(int rank) {
  const std::lock_guard lock(mutex_);
  if (!failure_)
    failure_.emplace(Code::kAborted, rank_text(names_[static_cast<std::size_t>(rank)]) + " has ended or left");
  changed_.notify_all();
}

void Meeting::abort(int rank) {
  const std::lock_guard lock(mutex_);
  here_[static_cast<std::size_t>(rank)] = Seat::kAborted;
  changed_.notify_all();
}

template <class P>
void Meeting::wait(std::unique_lock<std::mutex>& lock, int rank, std::chrono::nanoseconds limit, P&& over) {
  const Seat& seat = here_[static_cast<std::size_t>(rank)];
  const auto awake = [&] { return over() || failure_ || seat == Seat::kAborted; };
  if (limit.count() <= 0) {
    changed_.wait(lock, awake);
  } else if (!changed_.wait_for(lock, limit, awake)) {
    failure_.emplace(Code::kAborted, "a rank has not called for " +
                                         std::to_string(std::chrono::duration<double>(limit).count()).substr(0, 5) +
                                         " s, the limit of this call");
    changed_.notify_all();
  }
  if (over()) return;
  if (seat == Seat::kAborted) fail(Code::kCancelled, "the run was stopped while it waited for other ranks");
  throw Error(*failure_);
}

void Meeting::check(const std::vector<Part>& parts, const std::vector<int>& ranks) {
  for (std::size_t i = 1; i < parts.size(); ++i)
    if (parts[i].what != parts[0].what || parts[i].bytes != parts[0].bytes)
      fail(Code::kInvalidArgument, rank_text(ranks[i]) + " calls " + parts[i].what + ", " +
                                       std::to_string(parts[i].bytes) + " bytes, " + rank_text(ranks[0]) + " " +
                                       parts[0].what + ", " + std::to_string(parts[0].bytes) + " bytes");
}

void Meeting::exchange(int rank, const CallKey& key, int index, int sides, const Part& part,
                       std::chrono::nanoseconds limit, const std::function<void(const std::vector<Part>&)>& read) {
  std::unique_lock lock(mutex_);
  Exchange& e = calls_[key];
  wait(lock, rank, limit, [&] { return !e.reading && !failure_; });
  e.parts.resize(static_cast<std::size_t>(sides));
  e.waiting.resize(static_cast<std::size_t>(sides));
  e.parts[static_cast<std::size_t>(index)] = part;
  e.waiting[static_cast<std::size_t>(index)] = names_[static_cast<std::size_t>(rank)];
  const std::uint64_t round = e.round;
  if (++e.arrived == sides) {
    e.reading = true;
    changed_.notify_all();
  } else {
    wait(lock, rank, limit, [&] { return e.reading && e.round == round; });
  }
  lock.unlock();
  std::optional<Error> wrong;
  try {
    check(e.parts, e.waiting);
    read(e.parts);
  } catch (const Error& error) {
    wrong.emplace(error);
  }
  lock.lock();
  if (++e.done == sides) {
    e.arrived = e.done = 0;
    e.reading = false;
    ++e.round;
    changed_.notify_all();
  } else {
    changed_.wait(lock, [&] { return e.round != round; });  // a short wait: all are there, and a read waits for no
                                                            // other rank
  }
  if (wrong) throw Error(*wrong);
}

}  // namespace belay_local
