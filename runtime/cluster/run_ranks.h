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

#include "runtime/cluster/rank_agreement.h"
#include "runtime/cluster/rank_control.h"
#include "runtime/cluster/rank_inputs.h"
#include "runtime/cluster/rank_meeting.h"
#include "runtime/cluster/rank_states.h"
#include "runtime/cluster/rank_versions.h"
#include "runtime/cluster/shared_queue.h"
#include "runtime/cluster/step_of_ranks.h"
#include "runtime/cluster/variables_alike.h"
#include "runtime/monitored/run_saver.h"
#include "runtime/monitored/session_hook.h"
#include "runtime/monitored/session_manager.h"
#include "runtime/session/direct_session.h"

namespace belay::runtime {

class RunRanks final {
 public:
  struct Options : RankMeeting::Options {
    DType wire = DType::kInvalid;  // kBFloat16: to which gradients are rounded on the way
    std::string input = "train";   // whose shards they read
    std::string queue;             // the node of its queue
    std::int64_t max_recoveries = 10;
  };
  // What the run does when the group is another one, before there is a session.
  struct Events {
    std::function<void()> over;                                  // the group is over, and is still open
    std::function<void()> met;                                   // the next one has met
    std::function<void(int rank, int size)> placed;              // after that: which shard of the input this rank reads
    std::function<void(const std::string& schema)> take_schema;  // a worker's: the chief's, which is another one
  };
  RunRanks(Options options, RankControl control, Events events);
  ~RunRanks();
  RunRanks(const RunRanks&) = delete;
  RunRanks& operator=(const RunRanks&) = delete;

  // The group, and how it is met.
  RankMeeting& meeting() noexcept { return meeting_; }
  const RankMeeting& meeting() const noexcept { return meeting_; }
  CallMonitor& monitor() const noexcept { return control_.monitor; }
  // When each bucket was sent, on a line of its own; borrowed, null: nothing is traced.
  void trace_into(RunTrace* trace) noexcept { step_.trace_into(trace); }
  // Each rank has hooks with a state: it is in the chief's checkpoints by rank. Borrowed.
  void share_states(HookSet& hooks);
  // Behind each step, and where the session was made.
  void note_states();
  // What the ranks compare when they meet.
  void set_versions(RankVersions versions) { versions_ = std::move(versions); }
  // Files that differ, as the manifest names another one on each rank; empty: none.
  const std::string& files_differ() const noexcept { return files_differ_; }
  // The chief's: behind each checkpoint of its the ranks compare their variables. Borrowed; null: it makes none.
  void compare_behind(const RunSaver* saver) noexcept { agreement_.compare_after(saver); }
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
  // Ends the run on all ranks. Nothing where they have agreed on that already.
  void leave();
  // Behind the last save: no rank ends before the chief is here, too, since launchers end all as soon as one has ended.
  void end_together() noexcept;

 private:
  void met();
  void share(DirectSession& session, bool trained);
  bool give_up(const Error& error);
  int newest_rank(DirectSession& session, bool trained);
  void with_those_left(const std::function<void()>& call);

  const Options options_;
  const RankControl control_;
  const Events events_;
  RankMeeting meeting_;
  RankVersions versions_;
  std::string files_differ_;
  VariablesAlike variables_;
  RankInputs inputs_;
  RankStates states_;
  StepOfRanks step_;
  RankAgreement agreement_;
  DirectSession* session_ = nullptr;
  std::string regrouped_;
  std::int64_t in_a_row_ = 0;  // regroupings without a step since
};

}  // namespace belay::runtime
