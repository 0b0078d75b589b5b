// SPDX-License-Identifier: Apache-2.0
// RankMeeting lets one process of a run meet the others. It knows the group, its rank in it, and the other members.
//
//   RankMeeting meeting({{.seat = 1, .seats = 2, ...}, ...}, events);
//   meeting.use(cluster_instance);
//   meeting.open_chief(run_directory, attempt);   // or open_worker(files); after the chief has taken the run's lock
//   meeting.group().all_gather(numbers);
//   meeting.regroup();                            // after a rank was lost, if regroups()
//   meeting.close();
//
// The launcher sets the seat of a process. A group counts its ranks anew, and the process of seat 0, the chief, is
// always rank 0. [session thread]
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/cluster/membership.h"
#include "runtime/cluster/rank_group.h"
#include "runtime/cluster/rendezvous.h"

namespace belay::runtime {

class RankMeeting {
 public:
  struct Options : Membership::Options {
    int local_rank = -1;
    std::string directory;      // the run's; absolute, and all see it
    bool plugin_meets = false;  // the plugin finds the others by itself, without the directory
  };
  struct Events {
    std::function<bool()> stopping;  // whether the run is to end
    std::function<void()> over;      // the group is over, and is still open
    std::function<void()> met;       // the next one has met; an error ends the meeting
    // Called after that if regroups(): this process's place in the group.
    std::function<void(int rank, int size)> placed;
  };
  RankMeeting(const Options& options, Events events);

  // This process's rank in the group, and the group's size.
  int rank() const noexcept { return rank_; }
  int size() const noexcept { return size_; }
  // The plugin's whole answer when the ranks met.
  const ClusterPlace& place() const noexcept { return group_->place(); }
  bool chief() const noexcept { return options_.seat == 0; }
  const std::string& directory() const noexcept { return options_.directory; }
  // Whether the others continue when a rank is lost.
  bool regroups() const noexcept { return membership_ != nullptr; }
  // Returns "rank 2", with the number that the launcher gave this rank.
  std::string name_of(int rank) const;
  // Returns the seats by rank; empty unless regroups().
  std::vector<int> seats() const;

  // Borrowed; not used after close().
  void use(PluginInstance& cluster) { cluster_ = &cluster; }
  PluginInstance& cluster() const noexcept { return *cluster_; }
  // A worker waits until the chief has begun. UNAVAILABLE names the missing ranks; CANCELLED if the run is to stop;
  // RunInUse; FAILED_PRECONDITION if the chief has refused; an error of `met` passes through.
  void open_chief(LockedDirectory& run, std::int64_t attempt);
  void open_worker(FileSystem& files);
  // The chief calls it instead of open_chief(). Workers that wait in the directory end with the reason.
  void refuse(LockedDirectory& run, const std::string& reason) noexcept;
  // FAILED_PRECONDITION before the ranks have met, and after they left.
  RankGroup& group() const;
  bool is_open() const noexcept { return group_ != nullptr && group_->is_open(); }
  // Meets the next group after the previous one is over. ABORTED or UNAVAILABLE if another rank was lost during that.
  // After any other error there is no group any more.
  void regroup();
  // The input is not read any more, so `placed` is not called from now on.
  void end_places() noexcept { events_.placed = nullptr; }
  // Whether the chief has finished the run.
  bool run_finished() const;
  void close() noexcept;

  // Returns a message about the change since the last session: the lost and the replaced ranks, the new size, and the
  // step after which they continue. Rank `from` had made that step. Empty if nothing changed.
  std::string what_changed(int from, std::int64_t step) const;
  // The group has made a session.
  void note_session();
  // This process's rank in the last group that made a session, and the size of that group.
  int rank_before() const noexcept { return rank_before_; }
  int size_before() const noexcept { return static_cast<int>(before_.members.size()); }

 private:
  std::string max_wait_text() const;
  std::string on_lost_word() const;
  void meet(const std::string& directory, const std::string& name, std::int64_t generation = 0);
  void meet_first(const std::string& rendezvous);
  void meet_members();

  const Options options_;
  Events events_;
  const std::int64_t begun_ns_;  // by the wall clock
  PluginInstance* cluster_ = nullptr;
  std::unique_ptr<RankGroup> group_;
  std::unique_ptr<WorkerSeat> seat_;
  LockedDirectory* run_ = nullptr;  // the chief's
  FileSystem* files_ = nullptr;     // a worker's
  int rank_, size_;
  // ---- if the others continue after a rank was lost
  std::unique_ptr<Membership> membership_;  // null: they do not continue
  std::string rendezvous_;                  // the chief's name for it
  RankMembers members_, before_;            // of the group, and of the last one that made a session
  int rank_before_ = 0;                     // the rank in before_
  std::int64_t regroupings_ = 0;
};

}  // namespace belay::runtime
