// SPDX-License-Identifier: Apache-2.0
// Knows the newest evaluation of a run, and whether a save has the same variables as that evaluation. [session thread]
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "runtime/checkpoint/read/best_checkpoints.h"
#include "runtime/session/direct_session.h"

namespace belay::runtime {

class LastEvaluation {
 public:
  // True if an evaluation of the store's variables would have the same values. It is called only if a variable was
  // written since. Empty: the values would differ.
  using StillEvaluated = std::function<bool(VariableStore&)>;

  void note(std::int64_t step, double value, StillEvaluated still) { last_ = {step, value, {}, std::move(still)}; }
  // Notes that the session was restored from a checkpoint. `best`: its place among the best; null: it has none.
  void note_restored(const BestCheckpoint* best, const DirectSession& session);
  // Notes that the session begins a save. If no save came before, the variables are those of the evaluation.
  void note_save(const DirectSession& session);
  // Returns the value of the variables that are saved now; none if others were evaluated. A hook may have put the
  // averages that were evaluated into the place of the weights.
  std::optional<double> value_of(DirectSession& session, std::int64_t step) const;

 private:
  struct Evaluation {
    std::int64_t step;
    double value;
    std::optional<std::uint64_t> versions = {};  // the variables'; known once something is saved
    StillEvaluated still = {};
  };
  std::optional<Evaluation> last_;
};

}  // namespace belay::runtime
