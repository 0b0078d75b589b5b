// SPDX-License-Identifier: Apache-2.0
#include "runtime/cluster/rank_meeting.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "belay/tensor_text.h"
#include "runtime/checkpoint/directory/run_lock.h"
#include "runtime/cluster/open_watch.h"
#include "runtime/monitored/hooks/session_hook.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks{50};  // at the rendezvous
constexpr int kTriesAtStart = 10;                       // for ranks that end and start again while they meet

// "rank 2", "ranks 1 and 2", "ranks 1, 2 and 3"
std::string seats_text(const std::vector<int>& seats) {
  std::string names;
  for (std::size_t i = 0; i < seats.size(); ++i)
    names += (i == 0 ? "" : i + 1 == seats.size() ? " and " : ", ") + std::to_string(seats[i]);
  return (seats.size() == 1 ? "rank " : "ranks ") + names;
}

}  // namespace

RankMeeting::RankMeeting(const Options& options, Events events)
    : options_(options),
      events_(std::move(events)),
      begun_ns_(system_clock().wall_ns()),
      rank_(options.seat),
      size_(options.seats) {
  if (options.on_lost != LostRank::kStop) membership_ = std::make_unique<Membership>(options, events_.stopping);
}

std::string RankMeeting::name_of(int rank) const {
  const auto r = static_cast<std::size_t>(rank);
  return fmt::format("rank {}", r < members_.members.size() ? members_.members[r].seat : rank);
}

// ---- meeting ----

RankGroup& RankMeeting::group() const {
  if (!is_open()) fail(Code::kFailedPrecondition, "[B5106] the ranks have not met, or have left");
  return *group_;
}

// Returns the manifest's word for it.
std::string RankMeeting::on_lost_word() const {
  constexpr const char* kWords[] = {"stop", "continue", "wait"};
  return kWords[static_cast<std::size_t>(options_.on_lost)];
}

std::string RankMeeting::max_wait_text() const {
  return "cluster.max_wait_secs = " + rounded_text(options_.max_wait_secs);
}

void RankMeeting::meet(const std::string& directory, const std::string& name, std::int64_t generation) {
  group_ = std::make_unique<RankGroup>(*cluster_);
  try {
    group_->open({.rank = rank_,
                  .size = size_,
                  .local_rank = options_.local_rank,
                  .directory = directory,
                  .name = name,
                  .wait_secs = regroups() ? options_.timeout_secs : options_.max_wait_secs,
                  .timeout_secs = options_.timeout_secs,
                  .generation = generation});
  } catch (const Error& e) {
    if (e.code() == Code::kAlreadyExists) throw RunInUse(Code::kFailedPrecondition, std::string(e.message()));
    if (e.code() != Code::kUnavailable || regroups()) throw;
    throw Error(e.code(), std::string(e.message()) + " (" + max_wait_text() + ")");
  }
  events_.met();
}

void RankMeeting::open_chief(LockedDirectory& run, std::int64_t attempt) {
  if (options_.plugin_meets) return meet(options_.directory, new_meeting(attempt));
  run_ = &run;
  const std::string name = begin_meeting(run, attempt, on_lost_word());
  try {
    if (regroups()) return meet_first(name);
    meet(run.path() + "/" + std::string(kRendezvousName), name);
  } catch (const Error& e) {
    // A rank differs. Without the refusal, workers that have not met this chief would wait for another one.
    if (e.code() == Code::kInvalidArgument) refuse(run, std::string(e.message()));
    throw;
  }
}

void RankMeeting::refuse(LockedDirectory& run, const std::string& reason) noexcept {
  if (!chief() || options_.plugin_meets) return;
  try {
    refuse_meeting(run, reason);
  } catch (const Error&) {  // then they wait as if the chief did not come
  }
}

void RankMeeting::open_worker(FileSystem& files) {
  if (options_.plugin_meets) return meet(options_.directory, "");
  seat_ = std::make_unique<WorkerSeat>(files, options_.directory, options_.seat, on_lost_word(), begun_ns_);
  files_ = &files;
  if (regroups()) return meet_first("");
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(options_.max_wait_secs);
  for (;;) {
    const std::string name = seat_->look();
    if (!name.empty()) {
      try {
        const OpenWatch watch([this, name] { return seat_->is_current(name); }, *cluster_);
        return meet(seat_->directory(), name);
      } catch (const Error& e) {
        if (group_ != nullptr) group_->close();
        // If that attempt is over, the next chief may still come. Ranks that differ would differ again.
        if (e.code() == Code::kInvalidArgument || events_.stopping() || seat_->is_current(name)) throw;
      }
    }
    if (events_.stopping()) fail(Code::kCancelled, "the run was stopped while rank 0 was waited for");
    if (std::chrono::steady_clock::now() > end)
      fail(Code::kUnavailable, fmt::format("[B5102] rank 0 of {} did not begin a run in {} within {}", options_.seats,
                                           escaped(options_.directory), max_wait_text()));
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

void RankMeeting::close() noexcept {
  if (group_ != nullptr) group_->close();
  if (run_ != nullptr) end_meeting(*std::exchange(run_, nullptr));
  seat_.reset();
}

void RankMeeting::meet_members() {
  if (group_ != nullptr) {
    events_.over();
    group_->close();
  }
  RankMembers group = chief() ? membership_->form(*run_, rendezvous_) : membership_->join(*seat_, *files_);
  const int rank = *group.rank_of({options_.seat, membership_->token()});
  const auto size = static_cast<int>(group.members.size());
  const std::string directory = options_.directory + "/" + std::string(kRendezvousName);
  rank_ = rank, size_ = size;
  members_ = std::move(group);
  try {
    const OpenWatch watch(
        [this, directory] {
          try {
            return Membership::holds(
                members_, chief() ? *run_->open_directory(kRendezvousName) : *files_->open_directory(directory));
          } catch (const Error&) {
            return false;
          }
        },
        *cluster_);
    meet(directory, members_.meeting, members_.generation);
  } catch (const Error& e) {
    if (group_ != nullptr) group_->close();
    if (e.code() == Code::kUnavailable && regroupings_ > 0) membership_->note_not_met(ranks_not_met(e.what()));
    if (e.code() == Code::kCancelled && !events_.stopping())
      fail(Code::kUnavailable, "[B5102] a rank has ended while the group met");
    throw;
  }
  if (events_.placed) events_.placed(rank_, size_);
}

// It tries again itself, because no session exists yet that a recovery would make anew.
void RankMeeting::meet_first(const std::string& rendezvous) {
  rendezvous_ = rendezvous;
  for (int i = 1;; ++i) try {
      return meet_members();
    } catch (const Error& e) {
      if (!is_preemption(e.code()) || i == kTriesAtStart) throw;
    }
}

void RankMeeting::regroup() {
  ++regroupings_;
  meet_members();
}

bool RankMeeting::run_finished() const { return files_ != nullptr && files_->exists(options_.directory + "/finished"); }

// ---- between two sessions ----

std::vector<int> RankMeeting::seats() const {
  std::vector<int> seats;
  for (const RankMembers::Member& m : members_.members) seats.push_back(m.seat);
  return seats;
}

void RankMeeting::note_session() {
  before_ = members_;
  rank_before_ = rank_;
}

std::string RankMeeting::what_changed(int from, std::int64_t step) const {
  if (regroupings_ == 0 && from == 0) return "";
  std::vector<int> lost, replaced;
  for (const RankMembers::Member& m : before_.members) {
    if (members_.rank_of(m)) continue;
    const bool again = std::any_of(members_.members.begin(), members_.members.end(),
                                   [&](const RankMembers::Member& now) { return now.seat == m.seat; });
    (again ? replaced : lost).push_back(m.seat);
  }
  std::string text;
  if (!lost.empty()) text += seats_text(lost) + (lost.size() == 1 ? " was lost; " : " were lost; ");
  if (!replaced.empty()) text += seats_text(replaced) + (replaced.size() == 1 ? " was" : " were") + " replaced; ";
  text += fmt::format("{}{} after step {}", size_, size_ == 1 ? " rank continues" : " ranks continue", step);
  if (from != 0) text += ", which " + name_of(from) + " had made";
  if (regroupings_ > 0) text += fmt::format(" (regrouping {})", regroupings_);
  return text;
}

}  // namespace belay::runtime
