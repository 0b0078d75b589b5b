// SPDX-License-Identifier: Apache-2.0
// The ranks of a run agree between two steps: all make the next one, or save, or end the run.
//
//   RankAgreement agreement(meeting, variables, states, control);
//   agreement.met();                                        // a group has met
//   agreement.begin_session();                              // the variables are alike
//   agreement.check_continues();
//   notes = agreement.begin_step(own_note, own_error);      // all ranks: they make it, or the same error leaves all
//   agreement.ask_for_states();                             // the chief, between two steps, when it saves
//   agreement.end_run();                                    // a rank that makes no further step
//
// Each rank sends the others a note. A rank that ends the run ends it on all before anything of the step has happened.
// The input has ended when it has ended on all. The ranks then take the chief's values of variables that hooks have
// written. They compare their variables every 100 steps, after each checkpoint, and when they end together. [session
// thread]
#pragma once

#include <optional>
#include <vector>

#include "runtime/cluster/rank_control.h"
#include "runtime/cluster/rank_states.h"
#include "runtime/cluster/variables_alike.h"
#include "runtime/monitored/saving/run_saver.h"

namespace belay::runtime {

// A rank sends this note about itself to the others when a step begins.
struct RankNote {
  enum Kind : std::int64_t { kRows, kInputEnded, kEndsRun, kFailed, kSaves };  // kSaves: the chief wants states
  std::int64_t kind = kRows;
  std::int64_t epoch = 0;  // the epoch of its batch
  std::int64_t rows = 0;
  Position position = {};     // the position after its batch
  std::int64_t written = 0;   // writes of its variables since all were alike
  std::int64_t assigned = 0;  // the part of these that no run made
  bool saved = false;         // a checkpoint of these variables was begun
};

class RankAgreement {
 public:
  // Borrowed.
  RankAgreement(const RankMeeting& meeting, VariablesAlike& variables, RankStates& states, const RankControl& control)
      : meeting_(meeting), variables_(variables), states_(states), control_(control) {}

  // The ranks compare their variables after each of its checkpoints. Borrowed, and null on a worker.
  void compare_after(const RunSaver* saver) noexcept { saver_ = saver; }
  void met() noexcept { ended_ = exchanging_ = false; }
  void begin_session() { compared_ = variables_.step(); }

  // CANCELLED after the ranks have ended the run; the error of give_up().
  void check_continues() const;
  // Returns the notes by rank. Errors if the step does not happen: CANCELLED; the own error, which is the end of the
  // input or a failure; ABORTED if another rank has failed.
  std::vector<RankNote> begin_step(const RankNote& mine, const std::optional<Error>& own_error);
  // Whether the others would answer now.
  bool can_ask() const noexcept { return !ended_ && !exchanging_ && meeting_.size() > 1; }
  void ask_for_states();
  void end_run();

  // All ranks have agreed on the end, or this one is alone.
  bool ended() const noexcept { return ended_; }
  void end() noexcept { ended_ = true; }
  // There is no group any more. The next step throws `why`.
  void give_up(Error why);

 private:
  std::vector<RankNote> exchange(const RankNote& mine);
  std::vector<RankNote> exchange_once(RankNote mine);
  std::vector<RankNote> gather(const RankNote& mine);
  void compare_at_end();

  const RankMeeting& meeting_;
  VariablesAlike& variables_;
  RankStates& states_;
  const RankControl& control_;
  const RunSaver* saver_ = nullptr;
  std::int64_t compared_ = -1;  // the step of the last checkpoint that was compared
  bool exchanging_ = false;     // true after a failure, too
  bool ended_ = false;
  std::optional<Error> gave_up_;
};

}  // namespace belay::runtime
