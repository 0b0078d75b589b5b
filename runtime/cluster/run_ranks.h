// SPDX-License-Identifier: Apache-2.0
// The processes that train one model together: synchronously, each on its own rows.
//
//   RunRanks ranks({.rank = 1, .size = 2, ...});
//   ranks.use(cluster_instance);
//   session_options.queues = ranks.over(make_queue);        // of the training's input
//   ranks.open(run_directory, attempt, files, stopping);    // behind the run's lock: meets the others
//   CreatedSession session = ranks.alike(creator->create_session());   // variables and positions of the chief
//   ... steps ...
//   ranks.leave(reason);                                    // where this rank ends the run
//   ranks.close();
//
// A step begins with its dequeue, where the ranks tell each other what they have: a batch of which epoch and how many
// rows, the end of the input, or that one ends the run. So all make a step or none does, and all make as many:
//   * A rank that ends the run ends it on all, before anything of the step has happened.
//   * The input has ended when it has ended on all. Until then a rank without rows takes part with those of an earlier
//     batch, and they count for nothing. So does one whose next batch is of a later epoch than another's.
// Every 100 steps, and when they end together, they compare checksums of all variables.
//
// What only the chief has (rank 0): the run's directory, checkpoints, events, hooks, evaluations. It knows the
// positions of all ranks' inputs, which are in its checkpoints as "train", "train@1", "train@2" ... [session thread]
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/cluster/gradient_buckets.h"
#include "runtime/cluster/rank_group.h"
#include "runtime/cluster/rendezvous.h"
#include "runtime/graph/step_ranks.h"
#include "runtime/monitored/run_trace.h"
#include "runtime/monitored/session_manager.h"
#include "runtime/platform/watched_files.h"
#include "runtime/session/direct_session.h"

namespace belay::runtime {

class RunRanks final : public StepRanks {
 public:
  struct Options {
    int rank = 0;
    int size = 2;
    int local_rank = -1;
    std::string directory;  // the run's; absolute, and seen by all
    double max_wait_secs = 300;
    double timeout_secs = 60;
    DType wire = DType::kInvalid;  // kBFloat16: to which gradients are rounded on the way
    std::string input = "train";   // whose shards they read
    std::string queue;             // the node of its queue
    bool plugin_meets = false;     // the plugin finds the others by itself, without the directory
    std::uint32_t digest = 0;      // of what must be the same on all ranks: manifest and program
  };
  // What the ranks have to do with the run's control; borrowed.
  struct Control {
    std::function<bool()> stopping;                // the run is to end
    std::function<void(const std::string&)> stop;  // makes it end: another rank has
    CancellationSource& wakes;                     // ends the wait for this rank's own input
    DiskCalls& waits;                              // counts waits for other ranks: they are no hang of this one
  };
  RunRanks(Options options, Control control);
  ~RunRanks() override;

  int rank() const noexcept { return options_.rank; }
  int size() const noexcept { return options_.size; }
  bool chief() const noexcept { return options_.rank == 0; }

  // Borrowed; not used behind close(). The instance reports to monitor(), and nothing else does: two threads call it.
  void use(PluginInstance& cluster) { cluster_ = &cluster; }
  void report_to(CallMonitor& monitor) noexcept { monitor_ = &monitor; }
  CallMonitor& monitor() const noexcept { return *monitor_; }
  // When each bucket was sent, on a line of its own; borrowed, null: nothing is traced.
  void trace_into(RunTrace* trace) noexcept { trace_ = trace; }
  // A worker waits for the chief to have begun. UNAVAILABLE with who is missing; CANCELLED where the run is to stop;
  // RunInUse; INVALID_ARGUMENT where a rank has another manifest.
  void open_chief(LockedDirectory& run, std::int64_t attempt);
  void open_worker(FileSystem& files);
  void close() noexcept;

  // Makes queues as `make` does; that of the input takes its elements together with the other ranks.
  QueueFactory over(QueueFactory make);
  // The session's variables and the positions of inputs are the chief's from here on; the graph's variables are the
  // same on all ranks, but for those that the chief's hooks add. A checkpoint of another number of processes is gone on
  // with as runtime/cluster/rank_positions.h says.
  CreatedSession alike(CreatedSession created);
  // The chief's: what to say of that; empty: nothing.
  const std::string& regrouped() const noexcept { return regrouped_; }
  // Ends the run on all ranks. Nothing where they have agreed on that already.
  void leave();

  double share() const override { return share_; }
  float* bucket(std::size_t number) override { return buckets_->memory(number); }
  void begin(std::size_t number) override { buckets_->begin(number); }
  void wait() override;
  const std::vector<std::pair<const std::string*, Position>>& others_took() const override { return others_took_; }

 private:
  class SharedQueue;
  class Waiting;
  friend class SharedQueue;
  struct Note;

  RankGroup& group();
  void meet(const std::string& directory, const std::string& name);
  void compare_digests();
  std::string max_wait_text() const;
  std::string listed_variables() const;
  std::string restored_positions(DirectSession& session);
  std::vector<Note> exchange(const Note& mine);
  void compare_variables();
  void make_buckets(const NodeGraph& graph);
  void end_buckets() noexcept;
  void trace_buckets() noexcept;
  // Ends a wait for rank 0 that has begun anew.
  class MeetingWatch;

  const Options options_;
  const Control control_;
  PluginInstance* cluster_ = nullptr;
  CallMonitor own_monitor_;
  CallMonitor* monitor_ = &own_monitor_;
  RunTrace* trace_ = nullptr;
  bool traced_ = false;  // the times of the step under way are taken
  std::unique_ptr<RankGroup> group_;
  std::unique_ptr<WorkerSeat> seat_;
  LockedDirectory* run_ = nullptr;  // the chief's
  std::vector<std::string> position_names_;
  DirectSession* session_ = nullptr;
  std::vector<const Variable*> variables_;  // that all ranks have, in one order
  std::int64_t epoch_ = 0;                  // of this rank's next batch
  bool epoch_known_ = true;                 // false: only that batch says it
  std::string regrouped_;
  double share_ = 0;
  std::vector<std::pair<const std::string*, Position>> others_took_;  // the chief's
  bool ended_ = false;                                                // all ranks have agreed on it
  std::unique_ptr<GradientBuckets> buckets_;  // of the session; its thread ends before the group
};

// For a run that is one process, whose session may have been restored from a checkpoint of several: its input goes on
// where theirs stopped. What to say of that; empty: nothing.
std::string go_on_alone(DirectSession& session, const std::string& input);
// FAILED_PRECONDITION where it was: their steps are not made again by one.
void refuse_ranks(DirectSession& session, const std::string& input);

}  // namespace belay::runtime
