// SPDX-License-Identifier: Apache-2.0
// The insides of what Estimator::predict returns: a sequence that computes as it is read. Nothing happens before the
// first element is requested. Until then it calls no function of the program and no hook, and it looks for no
// checkpoint.
//
// It is read once. After the last element it closes the session and has called the hooks' `end`. If the reader stops
// earlier, close() does the same. The destructor closes it without `end`, as after an error. An error is thrown by
// next() and ends the sequence. It outlives the Estimator. [main]
#pragma once

#include <memory>
#include <string>

#include "belay/runtime/estimator.h"
#include "runtime/estimator/estimator/estimator_run.h"

namespace belay::runtime {
class PredictionSession;
}  // namespace belay::runtime

namespace belay {

struct EstimatorPredictions::Insides {
  std::shared_ptr<const runtime::EstimatorSettings> settings;
  InputFn input;
  PredictArguments options;
  std::shared_ptr<runtime::PredictionSession> session = {};  // null: not begun, or ended
  bool begun = false;
  std::string checkpoint = {};
};

}  // namespace belay
