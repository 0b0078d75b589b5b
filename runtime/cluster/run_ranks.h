// SPDX-License-Identifier: Apache-2.0
// The processes that train one model together: synchronously, each on its own rows.
//
//   RunRanks ranks({.rank = 1, .size = 2, ...});
//   ranks.meeting().use(cluster_instance);
//   session_options.queues = ranks.over(make_queue);        // of the training's input
//   ranks.meeting().open_chief(run_directory, attempt);     // behind the run's lock: meets the others
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
// Every 100 steps, behind each checkpoint, and when they end together, they compare checksums of all variables. What a
// hook has written between two steps all take from the chief where the next one begins.
//
// Where a rank is lost, ABORTED leaves the step, of which nothing has happened on this rank: the commit is its end.
// Without Options::on_lost that ends the run. With it the session is made anew over the same
// variables:
//   ranks.regroup();                                        // the next group, without the lost rank or with another
//   CreatedSession session = ranks.alike(..., true);        // variables and positions of the rank that is furthest
// Some may have committed the step that others have not, so that rank is asked for; the chief, where all are alike.
//
// What only the chief has (rank 0): the run's directory, checkpoints, events, hooks, evaluations. It knows the
// positions of all ranks' inputs, which are in its checkpoints as "train", "train@1", "train@2" ... [session thread]
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/cluster/gradient_buckets.h"
#include "runtime/cluster/rank_inputs.h"
#include "runtime/cluster/rank_meeting.h"
#include "runtime/cluster/rank_states.h"
#include "runtime/cluster/rank_versions.h"
#include "runtime/cluster/variables_alike.h"
#include "runtime/graph/step_ranks.h"
#include "runtime/monitored/run_saver.h"
#include "runtime/monitored/run_trace.h"
#include "runtime/monitored/session_hook.h"
#include "runtime/monitored/session_manager.h"
#include "runtime/platform/watched_files.h"
#include "runtime/session/direct_session.h"

namespace belay::runtime {

class RunRanks final : public StepRanks {
 public:
  struct Options : RankMeeting::Options {
    DType wire = DType::kInvalid;  // kBFloat16: to which gradients are rounded on the way
    std::string input = "train";   // whose shards they read
    std::string queue;             // the node of its queue
    std::int64_t max_recoveries = 10;
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

  // The group, and how it is met. The cluster's instance reports to monitor(), and nothing else does: two threads call
  // it.
  RankMeeting& meeting() noexcept { return meeting_; }
  const RankMeeting& meeting() const noexcept { return meeting_; }
  void report_to(CallMonitor& monitor) noexcept { monitor_ = &monitor; }
  CallMonitor& monitor() const noexcept { return *monitor_; }
  // When each bucket was sent, on a line of its own; borrowed, null: nothing is traced.
  void trace_into(RunTrace* trace) noexcept { trace_ = trace; }
  // Each rank has hooks with a state: it is in the chief's checkpoints by rank. Borrowed.
  void share_states(HookSet& hooks);
  // Behind each step, and where the session was made.
  void note_states();
  // What the ranks compare when they meet.
  void set_versions(RankVersions versions) { versions_ = std::move(versions); }
  // Files that differ, as the manifest names another one on each rank; empty: none.
  const std::string& files_differ() const noexcept { return files_differ_; }
  // The chief's: behind each checkpoint of its the ranks compare their variables. Borrowed; null: it makes none.
  void compare_behind(const RunSaver* saver) noexcept { saver_ = saver; }
  void close() noexcept;

  // Makes queues as `make` does; that of the input takes its elements together with the other ranks.
  QueueFactory over(QueueFactory make);
  // The session's variables and the positions of inputs are the chief's from here on; the graph's variables are the
  // same on all ranks, but for those that the chief's hooks add. A checkpoint of another number of processes is gone on
  // with as runtime/cluster/rank_positions.h says.
  // `trained`: the session has the variables that an earlier one of this process has trained.
  CreatedSession alike(CreatedSession created, bool trained = false);
  // What to say of that, the chief's, and of a regrouping; empty: nothing.
  const std::string& regrouped() const noexcept { return regrouped_; }
  // The next group, instead of the one that is over. ABORTED and UNAVAILABLE: another rank was lost meanwhile, again.
  // Where none can be formed any more this process is alone, and its next step says why.
  void regroup();
  // Called where this rank's place in the group is another one, before there is a session: its input has another shard.
  void on_place(std::function<void(int rank, int size)> placed) { placed_ = std::move(placed); }
  // Called where the group is over, before its end, and where the next one has met.
  void on_group(std::function<void()> over, std::function<void()> met) {
    group_over_ = std::move(over);
    group_met_ = std::move(met);
  }
  // Called on a worker whose schema is another one, with the chief's, before there is a session.
  void on_schema(std::function<void(const std::string& schema)> take) { take_schema_ = std::move(take); }
  // Called when the loss of some ranks, and not of all, is not finite: once a session, with their names.
  void on_bad_loss(std::function<void(const std::string&)> warn) { warn_ = std::move(warn); }
  // Ends the run on all ranks. Nothing where they have agreed on that already.
  void leave();
  // Behind the last save: no rank ends before the chief is here, too, since launchers end all as soon as one has ended.
  void end_together() noexcept;

  double share() const override { return share_; }
  float* bucket(std::size_t number) override { return buckets_->memory(number); }
  void begin(std::size_t number) override;
  void wait() override;
  const std::vector<std::pair<const std::string*, Position>>& others_took() const override { return others_took_; }

 private:
  class SharedQueue;
  friend class SharedQueue;
  struct Note;

  void met();
  void share(DirectSession& session, bool trained);
  std::vector<Note> exchange(const Note& mine);
  std::vector<Note> exchange_once(Note mine);
  void make_buckets(const NodeGraph& graph);
  void end_buckets() noexcept;
  void trace_buckets() noexcept;
  void mark_own_loss() noexcept;
  void look_at_losses();
  void ask_for_states();
  bool give_up(const Error& error);
  int newest_rank(DirectSession& session, bool trained);
  void compare_at_end();
  void with_those_left(const std::function<void()>& call);

  const Options options_;
  const Control control_;
  RankMeeting meeting_;
  CallMonitor own_monitor_;
  CallMonitor* monitor_ = &own_monitor_;
  RunTrace* trace_ = nullptr;
  const RunSaver* saver_ = nullptr;
  bool traced_ = false;  // the times of the step under way are taken
  RankInputs inputs_;
  DirectSession* session_ = nullptr;
  std::thread::id steps_on_;
  VariablesAlike variables_;
  std::int64_t compared_ = -1;  // the step of the last checkpoint that was compared
  RankVersions versions_;
  std::function<void(const std::string&)> take_schema_;
  std::string files_differ_;
  RankStates states_;
  bool in_step_ = false;  // a step was agreed on, and its sums are not there yet
  bool lost_ = false;     // the group has failed
  std::string regrouped_;
  double share_ = 0;
  std::vector<std::pair<const std::string*, Position>> others_took_;  // the chief's
  bool ended_ = false;                                                // all ranks have agreed on it
  std::unique_ptr<GradientBuckets> buckets_;  // of the session; its thread ends before the group
  std::optional<LossMarks> loss_;             // in these buckets; none: the loss is in none of them
  bool warned_of_loss_ = false;               // in this session
  std::function<void(const std::string&)> warn_;
  std::function<void(int, int)> placed_;
  std::function<void()> group_over_, group_met_;
  std::int64_t in_a_row_ = 0;     // regroupings without a step since
  std::optional<Error> gave_up_;  // why there is no group any more
};

}  // namespace belay::runtime
