// SPDX-License-Identifier: Apache-2.0
// RunRanks is one of the processes that train one model together. They train synchronously, each on its own rows.
// RunRanks owns the parts that do the work.
//
//   RunRanks ranks({...}, control, events);
//   ranks.meeting().use(cluster_instance);
//   session_options.queues = ranks.over(make_queue);     // a dequeue of the training's input begins a step for all
//   ranks.meeting().open_chief(run_directory, attempt);  // after the run's lock was taken: meets the others
//   CreatedSession session = ranks.alike(creator->create_session());   // variables and positions of the chief
//   ... steps, and note_states() after each ...
//   ranks.leave();                                       // this rank makes no further step
//   ranks.end_together();                                // after the last save
//   ranks.close();
//
// If a rank is lost, the step throws ABORTED and has changed nothing on this rank. Without on_lost that ends the run.
// With it the session is made anew over the same variables:
//   ranks.regroup();                                     // the next group, without the lost rank or with another
//   CreatedSession session = ranks.alike(..., true);     // variables and positions of the rank that is furthest
//
// Only the chief (rank 0) has the run's directory, checkpoints, events, hooks and evaluations. [session thread]
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "runtime/cluster/rank_agreement.h"
#include "runtime/cluster/rank_inputs.h"
#include "runtime/cluster/rank_versions.h"
#include "runtime/cluster/shared_queue.h"

namespace belay::runtime {

class RunRanks final {
 public:
  struct Options : RankMeeting::Options {
    DType wire = DType::kInvalid;  // kBFloat16: gradients are rounded to it on the way
    std::string input = "train";   // they read shards of it
    std::string queue;             // the node of its queue
    std::int64_t max_recoveries = 10;
  };
  // The run does these when the group changes, before there is a session.
  struct Events {
    std::function<void()> over;                                  // the group is over, and is still open
    std::function<void()> met;                                   // the next one has met
    std::function<void(int rank, int size)> placed;              // after that: this rank's shard of the input
    std::function<void(const std::string& schema)> take_schema;  // a worker's schema differs, so it takes the chief's
  };
  RunRanks(Options options, RankControl control, Events events);
  ~RunRanks();

  // The meeting has the group and makes it.
  RankMeeting& meeting() noexcept { return meeting_; }
  const RankMeeting& meeting() const noexcept { return meeting_; }
  CallMonitor& monitor() const noexcept { return control_.monitor; }
  // Each rank has hooks with a state. The chief's checkpoints have these states by rank. Borrowed.
  void share_states(HookSet& hooks);
  // Call it after each step, and after the session was made.
  void note_states();
  // The ranks compare these when they meet.
  void set_versions(RankVersions versions) { versions_ = std::move(versions); }
  // A message about files that differ because the manifest names another one on each rank; empty if there are none.
  const std::string& files_differ() const noexcept { return files_differ_; }
  // `trace` shows when each bucket was sent. `saver` is the chief's: after each of its checkpoints the ranks compare
  // their variables. Borrowed, and null if there is none.
  void watch(RunTrace* trace, const RunSaver* saver) noexcept {
    step_.trace_into(trace);
    agreement_.compare_after(saver);
  }
  void close() noexcept;

  // Makes queues as `make` does. The queue of the input takes its elements together with the other ranks.
  QueueFactory over(QueueFactory make);
  // From here on the session's variables and the positions of inputs are the chief's. The variables that the chief's
  // hooks add are left out. `trained`: the session has the variables that an earlier one of this process has trained;
  // then some ranks may have made a step that others have not, and all take what the furthest has.
  CreatedSession alike(CreatedSession created, bool trained = false);
  // A message about that and about a regrouping; empty if there is none.
  const std::string& regrouped() const noexcept { return regrouped_; }
  // Meets the next group after the previous one is over. ABORTED or UNAVAILABLE if another rank was lost during that.
  // If no group can be formed any more, this process is alone, and its next step throws the reason.
  void regroup();
  // Ends the run on all ranks, unless they have agreed on that already.
  void leave();
  // Call it after the last save. No rank ends before the chief calls it, because launchers end all when one has ended.
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
