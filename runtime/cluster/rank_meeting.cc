// SPDX-License-Identifier: Apache-2.0
// The processes of a run meet: when it begins, and again after one of them was lost.
#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "belay/tensor_text.h"
#include "runtime/checkpoint/run_lock.h"
#include "runtime/cluster/open_watch.h"
#include "runtime/cluster/rank_positions.h"
#include "runtime/cluster/rank_wait.h"
#include "runtime/cluster/run_ranks.h"
#include "runtime/monitored/session_hook.h"
#include "runtime/platform/text.h"

namespace belay::runtime {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks{50};  // at the rendezvous
constexpr int kTriesAtStart = 10;                       // of ranks that end and come again while they meet

// "rank 2", "ranks 1 and 2", "ranks 1, 2 and 3"
std::string seats_text(const std::vector<int>& seats) {
  std::string names;
  for (std::size_t i = 0; i < seats.size(); ++i)
    names += (i == 0 ? "" : i + 1 == seats.size() ? " and " : ", ") + std::to_string(seats[i]);
  return (seats.size() == 1 ? "rank " : "ranks ") + names;
}

}  // namespace

std::unique_ptr<Membership> RunRanks::make_membership() const {
  return std::make_unique<Membership>(Membership::Options{.seat = options_.rank,
                                                          .seats = options_.size,
                                                          .on_lost = options_.on_lost,
                                                          .min_ranks = options_.min_ranks,
                                                          .max_wait_secs = options_.max_wait_secs,
                                                          .timeout_secs = options_.timeout_secs},
                                      control_.stopping);
}

// By the number that the launcher gave it.
std::string RunRanks::name_of(int rank) const {
  const auto r = static_cast<std::size_t>(rank);
  return "rank " + std::to_string(r < members_.members.size() ? members_.members[r].seat : rank);
}

// In the store of another rank, whose own position has the input's name.
std::string RunRanks::name_on_others(int rank) const {
  return rank == 0 ? options_.input + "@0" : name_of_position(options_.input, rank);
}

// ---- meeting ----

RankGroup& RunRanks::group() {
  if (group_ == nullptr || !group_->is_open()) fail(Code::kFailedPrecondition, "the ranks have not met, or have left");
  return *group_;
}

// As in the manifest.
std::string RunRanks::on_lost_word() const {
  constexpr const char* kWords[] = {"stop", "continue", "wait"};
  return kWords[static_cast<std::size_t>(options_.on_lost)];
}

std::string RunRanks::max_wait_text() const {
  return "cluster.max_wait_secs = " + rounded_text(options_.max_wait_secs);
}

void RunRanks::meet(const std::string& directory, const std::string& name, std::int64_t generation) {
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
  ended_ = lost_ = in_step_ = false;
  compare_versions();
  if (group_met_) group_met_();
}

void RunRanks::open_chief(LockedDirectory& run, std::int64_t attempt) {
  if (options_.plugin_meets) return meet(options_.directory, new_meeting(attempt));
  run_ = &run;
  const std::string name = begin_meeting(run, attempt, on_lost_word());
  try {
    if (regroups()) return meet_first(name);
    meet(run.path() + "/" + std::string(kRendezvousName), name);
  } catch (const Error& e) {
    // A rank differs. Others that have not met this one would wait for another chief.
    if (e.code() == Code::kInvalidArgument) refuse(run, std::string(e.message()));
    throw;
  }
}

void RunRanks::refuse(LockedDirectory& run, const std::string& reason) noexcept {
  if (!chief() || options_.plugin_meets) return;
  try {
    refuse_meeting(run, reason);
  } catch (const Error&) {  // they wait as long as for a chief that does not come
  }
}

void RunRanks::open_worker(FileSystem& files) {
  if (options_.plugin_meets) return meet(options_.directory, "");
  seat_ = std::make_unique<WorkerSeat>(files, options_.directory, options_.rank, on_lost_word(), begun_ns_);
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
        // Of an attempt that is over: the chief of this one may still come. Ranks that differ would differ again.
        if (e.code() == Code::kInvalidArgument || control_.stopping() || seat_->is_current(name)) throw;
      }
    }
    if (control_.stopping()) fail(Code::kCancelled, "the run was stopped while rank 0 was waited for");
    if (std::chrono::steady_clock::now() > end)
      fail(Code::kUnavailable, "rank 0 of " + std::to_string(options_.size) + " did not begin a run in " +
                                   escaped(options_.directory) + " within " + max_wait_text());
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

void RunRanks::close() noexcept {
  end_buckets();
  if (group_ != nullptr) group_->close();
  if (run_ != nullptr) end_meeting(*std::exchange(run_, nullptr));
  seat_.reset();
}

void RunRanks::meet_members() {
  if (group_ != nullptr && group_over_) group_over_();
  end_buckets();
  if (group_ != nullptr) group_->close();
  RankMembers group = chief() ? membership_->form(*run_, rendezvous_) : membership_->join(*seat_, *files_);
  const int rank = *group.rank_of({options_.rank, membership_->token()});
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
    if (e.code() == Code::kCancelled && !control_.stopping())
      fail(Code::kUnavailable, "a rank has ended while the group met");
    throw;
  }
  if (placed_) placed_(rank_, size_);
}

// There is no session yet that a recovery would make anew.
void RunRanks::meet_first(const std::string& rendezvous) {
  rendezvous_ = rendezvous;
  for (int i = 1;; ++i) try {
      return meet_members();
    } catch (const Error& e) {
      if (!is_preemption(e.code()) || i == kTriesAtStart) throw;
    }
}

// Another recovery would be one too many: the session is made, and its end saves.
bool RunRanks::give_up(const Error& error) {
  if (in_a_row_ == 0 || in_a_row_ < options_.max_recoveries || !is_preemption(error.code())) return false;
  ended_ = true;
  gave_up_.emplace(Code::kInternal,
                   "gave up after " + std::to_string(in_a_row_) + " recoveries in a row: " + error.what());
  return true;
}

void RunRanks::regroup() {
  ++regroupings_;
  ++in_a_row_;
  const RankWait waiting(control_.waits);
  try {
    meet_members();
  } catch (const RunInUse&) {
    throw;
  } catch (const Error& e) {
    if (give_up(e)) return;
    if (is_preemption(e.code())) throw;
    // Alone it makes no step, but ends as a run does, with its last checkpoint if it is the chief.
    ended_ = true;
    if (e.code() == Code::kCancelled && control_.stopping()) return;
    if (e.code() == Code::kNotFound && files_ != nullptr && files_->exists(options_.directory + "/finished")) {
      control_.stop(std::string(e.message()));
      return;
    }
    gave_up_.emplace(e);
  }
}

// Behind the last step: this rank's input is not read any more.
void RunRanks::with_those_left(const std::function<void()>& call) {
  placed_ = nullptr;
  bool together = true;
  for (int i = 1;; ++i) try {
      if (!together) {
        regroup();
        if (ended_) return;
        share(*session_, true);
        together = true;
      }
      return call();
    } catch (const Error& e) {
      if (!regroups() || !is_preemption(e.code()) || i == kTriesAtStart) throw;
      together = false;
    }
}

// All have agreed on the end: who is lost now is not missed.
void RunRanks::compare_at_end() {
  try {
    compare_variables();
    gather_states();
  } catch (const Error& e) {
    if (!regroups() || !is_preemption(e.code())) throw;
  }
}

void RunRanks::end_together() noexcept {
  if (group_ == nullptr || !group_->is_open()) return;
  const RankWait waiting(control_.waits);
  try {
    group_->all_gather({0});
  } catch (const Error&) {  // one has ended before, and is not waited for
  }
}

// ---- what they go on with ----

// Of those that have the same the first.
int RunRanks::newest_rank(DirectSession& session, bool trained) {
  const std::int64_t step = trained || chief() ? std::max<std::int64_t>(session.global_step(), 0) : -1;
  const std::vector<std::int64_t> all = group().all_gather({step});
  const auto newest = std::max_element(all.begin(), all.end());
  const auto from = static_cast<int>(newest - all.begin());
  if (regroupings_ > 0 || from != 0) regrouped_ = what_changed(from, *newest);
  return from;
}

// "rank 1 was lost; 2 ranks go on behind step 57"
std::string RunRanks::what_changed(int from, std::int64_t step) const {
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
  text += std::to_string(size_) + (size_ == 1 ? " rank goes" : " ranks go") + " on behind step " + std::to_string(step);
  if (from != 0) text += ", which " + name_of(from) + " had made";
  if (regroupings_ > 0) text += " (regrouping " + std::to_string(regroupings_) + ")";
  return text;
}

// By the names that checkpoints have.
InputPositions RunRanks::positions_by_rank(DirectSession& session) const {
  InputPositions all = session.store().positions();
  if (chief()) return all;
  std::vector<Position> of_rank;
  const auto size = static_cast<int>(before_.members.size());
  for (int r = 0; r < size; ++r) of_rank.push_back(all[r == rank_before_ ? options_.input : name_on_others(r)]);
  return with_positions({}, options_.input, of_rank);
}

void RunRanks::keep_positions(DirectSession& session, const std::vector<Position>& of_rank) {
  if (chief()) {
    if (regroups() || !regrouped_.empty())
      session.store().replace_positions(with_positions(session.store().positions(), options_.input, of_rank));
  } else {
    InputPositions own;
    for (int r = 0; r < size_; ++r)
      if (r == rank_ || regroups())
        own[r == rank_ ? options_.input : name_on_others(r)] = of_rank[static_cast<std::size_t>(r)];
    session.store().replace_positions(own);
  }
  before_ = members_;
  rank_before_ = rank_;
}

}  // namespace belay::runtime
