// SPDX-License-Identifier: Apache-2.0
#include "runtime/cluster/rendezvous.h"

#include <fmt/core.h>

#include <chrono>
#include <random>
#include <sstream>
#include <thread>

#include "belay/error.h"
#include "runtime/checkpoint/directory/run_lock.h"
#include "runtime/checkpoint/format/names.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

constexpr std::string_view kMeetingName = "attempt";
constexpr std::string_view kRefusedName = "rendezvous-refused";
constexpr std::uint64_t kMostBytesOfReason = 1 << 16;
constexpr std::int64_t kStartsApartNs = 10'000'000'000;  // between the processes of a job, and between their clocks
constexpr std::uint64_t kMostBytesOfName = 256;
constexpr int kTries = 10;
constexpr std::chrono::milliseconds kBetweenTries{10};

// The folder is removed as a whole, by a rename. A worker that has just found it may still write into it, and those
// files are removed too.
void remove_rendezvous(LockedDirectory& run, const std::string& unused) {
  if (!run.exists(kRendezvousName)) return;
  run.rename(kRendezvousName, unused);
  for (int i = 1;; ++i) try {
      return run.remove_tree(unused);
    } catch (const RunInUse&) {
      throw;
    } catch (const Error&) {
      if (i == kTries) throw;
      std::this_thread::sleep_for(kBetweenTries);
    }
}

}  // namespace

std::string seat_name(int rank) { return fmt::format("seat-{}", rank); }

std::string new_meeting(std::int64_t attempt) {
  std::random_device random;
  const unsigned high = random(), low = random();
  return fmt::format("attempt-{}-{:08x}{:08x}", attempt, high, low);
}

std::string begin_meeting(LockedDirectory& run, std::int64_t attempt, std::string_view on_lost) {
  std::string name = new_meeting(attempt);
  if (run.exists(kRefusedName)) run.remove(kRefusedName);
  remove_rendezvous(run, std::string(kRendezvousName) + "-before-" + name);
  run.make_directory(kRendezvousName)->replace(kMeetingName, name + " " + std::string(on_lost) + "\n");
  return name;
}

void refuse_meeting(LockedDirectory& run, const std::string& reason) {
  run.replace(kRefusedName, reason.substr(0, kMostBytesOfReason / 2) + "\n");
}

void end_meeting(LockedDirectory& run) noexcept {
  try {
    remove_rendezvous(run, std::string(kRendezvousName) + "-over");
  } catch (const Error&) {  // the next attempt removes it
  }
}

// A folder that is just being made or removed counts as missing.
WorkerSeat::Begun WorkerSeat::read() const {
  try {
    if (!files_.exists(directory())) return {};
    std::istringstream text(files_.open_directory(directory())->read(kMeetingName, kMostBytesOfName));
    Begun begun;
    text >> begun.name >> begun.on_lost;
    return begun;
  } catch (const Error&) {
    return {};
  }
}

// If a process has the run's lock, there is a chief, and an earlier chief's refusal does not count.
std::string WorkerSeat::refusal() const {
  try {
    if (!files_.exists(run_)) return "";
    const std::unique_ptr<OpenDirectory> run = files_.open_directory(run_);
    if (!run->exists(kRefusedName) || (run->exists(kLockName) && run->locked(kLockName))) return "";
    const std::int64_t refused_ns = run->status(kRefusedName).modified_ns;
    if (refused_ns < begun_ns_ - kStartsApartNs) return "";
    if (refused_ns < begun_ns_ && clock_.wall_ns() < begun_ns_ + kStartsApartNs) return "";
    const std::string reason = run->read(kRefusedName, kMostBytesOfReason);
    return reason.substr(0, reason.find('\n'));
  } catch (const Error&) {
    return "";
  }
}

std::string WorkerSeat::look() {
  if (const std::string why = refusal(); !why.empty())
    fail(Code::kFailedPrecondition, "[B5103] rank 0 does not train: " + escaped(why));
  const auto [name, on_lost] = read();
  if (name.empty() || name == name_) return name;
  if (on_lost != on_lost_)
    fail(Code::kInvalidArgument, fmt::format("[B5101] rank {} has another manifest than rank 0: cluster.on_lost_rank "
                                             "is \"{}\" there, and \"{}\" on rank 0; start all with the same",
                                             rank_, on_lost_, on_lost));
  lock_.reset();
  name_.clear();
  std::string holder;
  try {
    // A process that asks whether the seat is taken holds it for a moment.
    for (int i = 0; i < kTries && lock_ == nullptr; ++i) {
      if (i > 0) std::this_thread::sleep_for(kBetweenTries);
      const std::unique_ptr<OpenDirectory> rendezvous = files_.open_directory(directory());
      lock_ = rendezvous->try_lock(seat_name(rank_));
      if (lock_ == nullptr) holder = holder_of(*rendezvous, seat_name(rank_));
    }
    const std::string text = holder_text(this_process(), system_clock()) + "\n";
    if (lock_ != nullptr) lock_->write(text.data(), text.size());
  } catch (const Error&) {
    return "";
  }
  if (lock_ == nullptr)
    throw RunInUse(Code::kFailedPrecondition,
                   fmt::format("[B5112] rank {} of the run in {} is there already{}: another job trains in this "
                               "directory, or that process hangs: end it first",
                               rank_, run_, holder.empty() ? "" : " (" + holder + ")"));
  name_ = name;
  return name;
}

bool WorkerSeat::is_current(const std::string& name) const { return read().name == name && refusal().empty(); }

}  // namespace belay::runtime
