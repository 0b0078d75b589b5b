// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/estimator/estimator.h"

#include <utility>

#include "runtime/api/estimator.h"
#include "runtime/api/log.h"

namespace belay {
namespace {

runtime::EstimatorSetup setup_of(const EstimatorOptions& options, runtime::Logger& log) {
  runtime::EstimatorSetup setup{options};
  setup.logger = &log;
  return setup;
}

}  // namespace

Estimator::Insides::Insides(const ModelFn& model, const EstimatorOptions& options)
    : log(runtime::make_log(options.log)), estimator(model, setup_of(options, *log)) {}

Estimator::Insides::Insides(const ModelFn& model, runtime::EstimatorSetup setup) : estimator(model, std::move(setup)) {}

Estimator::Estimator(ModelFn model, const EstimatorOptions& options)
    : insides_(std::make_unique<Insides>(model, options)) {}

Estimator::Estimator(std::unique_ptr<Insides> insides) : insides_(std::move(insides)) {}

Estimator::~Estimator() = default;

Estimator& Estimator::train(const InputFn& input, const TrainOptions& options) {
  insides_->estimator.train(input, options);
  return *this;
}

EvalMetrics Estimator::evaluate(const InputFn& input, const EvaluateOptions& options) {
  return insides_->estimator.evaluate(input, options);
}

const std::string& Estimator::model_dir() const noexcept { return insides_->estimator.model_dir(); }
std::string Estimator::eval_dir(const std::string& name) const { return insides_->estimator.eval_dir(name); }
const RunConfig& Estimator::config() const noexcept { return insides_->estimator.config(); }
const Params& Estimator::params() const noexcept { return insides_->estimator.params(); }
std::string Estimator::latest_checkpoint() const { return insides_->estimator.latest_checkpoint(); }
std::vector<std::string> Estimator::variable_names() const { return insides_->estimator.variable_names(); }
Tensor Estimator::variable_value(const std::string& name) const { return insides_->estimator.variable_value(name); }

EstimatorPredictions Estimator::predict(const InputFn& input, const PredictArguments& options) {
  EstimatorPredictions predictions = insides_->estimator.predict(input, options);
  predictions.insides().log = insides_->log;
  return predictions;
}

}  // namespace belay
