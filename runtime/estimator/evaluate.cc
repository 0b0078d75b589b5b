// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/evaluate.h"

#include "runtime/estimator/prepared_run.h"

namespace belay::runtime {

CheckpointResult evaluate_checkpoint(PreparedRun& run, const CheckpointChoice& choice, VariableStore& store) {
  CheckpointResult out;
  out.checkpoint = load_checkpoint(run.checkpoint_place(), choice, run.host.codec(), store);
  for (const std::unique_ptr<Evaluation>& evaluation : run.evaluations.built)
    out.inputs.push_back(
        {evaluation->name(), evaluation->run(store, out.checkpoint.global_step, [&run] { return run.keep_going(); })});
  return out;
}

CheckpointResult evaluate_checkpoint(PreparedRun& run, const std::function<void()>& progress) {
  run.evaluations.progress = progress;
  VariableStore store;
  return evaluate_checkpoint(run, run.checkpoint_choice(), store);
}

}  // namespace belay::runtime
