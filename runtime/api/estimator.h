// SPDX-License-Identifier: Apache-2.0
// What is in an Estimator.
#pragma once

#include <memory>

#include "belay/runtime/estimator.h"
#include "runtime/estimator/estimator/estimator.h"

namespace belay {

struct Estimator::Insides {
  Insides(const ModelFn& model, const EstimatorOptions& options);
  // With a clock, a log and a file system of the caller's.
  Insides(const ModelFn& model, runtime::EstimatorSetup setup);

  const std::shared_ptr<runtime::Logger> log;  // also of predictions, which may outlive the estimator; null: borrowed
  runtime::Estimator estimator;
};

}  // namespace belay
