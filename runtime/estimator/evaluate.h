// SPDX-License-Identifier: Apache-2.0
// One evaluation, for a run that makes no more of them.
#pragma once

#include <functional>
#include <memory>

#include "runtime/estimator/evaluation.h"

namespace belay::runtime {

// With the step that `trained` is at; see evaluation.h.
EvalResult evaluate(const OpRegistry& ops, const RunEnvironment& environment, PluginInstance& model,
                    const std::shared_ptr<InputFeed>& input, VariableStore& trained,
                    const std::function<bool()>& keep_going);

}  // namespace belay::runtime
