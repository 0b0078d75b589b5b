// SPDX-License-Identifier: Apache-2.0
// RunRanks is one of the processes that train one model together, synchronously, each on its own rows. It owns the
// parts that do the work.
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
// If a rank is lost, ABORTED leaves the step, of which nothing has happened on this rank. Without on_lost that ends the
// run. With it the session is made anew over the same variables:
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

  // The group, and how it is met.
  RankMeeting& meeting() noexcept { return meeting_; }
  const RankMeeting& meeting() const noexcept { return meeting_; }
  CallMonitor& monitor() const noexcept { return control_.monitor; }
  // Each rank has hooks with a state: it is in the chief's checkpoints by rank. Borrowed.
  void share_states(HookSet& hooks);
  // After each step, and when the session was made.
  void note_states();
  // What the ranks compare when they meet.
  void set_versions(RankVersions versions) { versions_ = std::move(versions); }
  // Files that differ, since the manifest names another one on each rank; empty: none.
  const std::string& files_differ() const noexcept { return files_differ_; }
  // `trace` shows when each bucket was sent. `saver` is the chief's: after each of its checkpoints the ranks compare
  // their variables. Borrowed, and null if there is none.
  void watch(RunTrace* trace, const RunSaver* saver) noexcept {
    step_.trace_into(trace);
    agreement_.compare_after(saver);
  }
  void close() noexcept;

  // Makes queues as `make` does; that of the input takes its elements together with the other ranks.
  QueueFactory over(QueueFactory make);
  // From here on the session's variables and the positions of inputs are the chief's. The variables that the chief's
  // hooks add are left out. `trained`: the session has the variables that an earlier one of this process has trained;
  // then some ranks may have made a step that others have not, and all take what the furthest has.
  CreatedSession alike(CreatedSession created, bool trained = false);
  // What to say of that and of a regrouping; empty: nothing.
  const std::string& regrouped() const noexcept { return regrouped_; }
  // The next group, instead of the one that is over. ABORTED and UNAVAILABLE: another rank was lost meanwhile, again.
  // If none can be formed any more this process is alone, and its next step says why.
  void regroup();
  // Ends the run on all ranks, unless they have agreed on that already.
  void leave();
  // After the last save: no rank ends before the chief is here, since launchers end all as soon as one has ended.
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
