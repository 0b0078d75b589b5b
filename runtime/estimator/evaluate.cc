// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/evaluate.h"

namespace belay::runtime {

CheckpointResult evaluate_checkpoint(const CheckpointPlace& place, const CheckpointChoice& choice,
                                     const SaverUse& saver, const std::vector<std::unique_ptr<Evaluation>>& evaluations,
                                     const std::function<bool()>& keep_going, VariableStore& store) {
  CheckpointResult out;
  out.checkpoint = load_checkpoint(place, choice, saver, store);
  for (const std::unique_ptr<Evaluation>& evaluation : evaluations)
    out.inputs.push_back({evaluation->name(), evaluation->run(store, out.checkpoint.global_step, keep_going)});
  return out;
}

}  // namespace belay::runtime
