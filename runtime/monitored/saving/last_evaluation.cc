// SPDX-License-Identifier: Apache-2.0
#include "runtime/monitored/saving/last_evaluation.h"

#include "runtime/monitored/saving/restored_checkpoint.h"

namespace belay::runtime {

void LastEvaluation::note_restored(const BestCheckpoint* best, const DirectSession& session) {
  last_.reset();
  if (best != nullptr) last_ = {best->step, best->value, total_of_versions(session)};
}

void LastEvaluation::note_save(const DirectSession& session) {
  if (last_ && !last_->versions) last_->versions = total_of_versions(session);
}

std::optional<double> LastEvaluation::value_of(DirectSession& session, std::int64_t step) const {
  if (!last_ || last_->step != step) return std::nullopt;
  const bool same = last_->versions == total_of_versions(session) || (last_->still && last_->still(session.store()));
  return same ? std::optional(last_->value) : std::nullopt;
}

}  // namespace belay::runtime
