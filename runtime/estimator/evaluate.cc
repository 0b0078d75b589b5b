// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/evaluate.h"

namespace belay::runtime {

EvalResult evaluate(const OpRegistry& ops, const RunEnvironment& environment, PluginInstance& model,
                    const std::shared_ptr<InputFeed>& input, VariableStore& trained,
                    const std::function<bool()>& keep_going) {
  const Variable* step = trained.find("global_step");
  const std::int64_t global_step = step == nullptr ? -1 : *step->value.data<std::int64_t>();
  return Evaluation(ops, environment, model, input).run(trained, global_step, keep_going);
}

}  // namespace belay::runtime
