// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/estimator/estimator.h"

#include <utility>

#include "runtime/api/log.h"

namespace belay {
namespace {

runtime::EstimatorSetup setup_of(const EstimatorOptions& options) {
  runtime::EstimatorSetup setup{options};
  setup.kept_logger = runtime::make_log(options.log);
  setup.logger = setup.kept_logger.get();
  return setup;
}

}  // namespace

Estimator::Estimator(ModelFn model, const EstimatorOptions& options)
    : Estimator(std::make_unique<Insides>(std::move(model), setup_of(options))) {}

}  // namespace belay
