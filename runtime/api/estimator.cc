// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/estimator.h"

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

// ---- predictions

struct EstimatorPredictions::Insides {
  std::shared_ptr<runtime::Logger> log;
  runtime::EstimatorPredictions predictions;
  PredictedRow row;
};

EstimatorPredictions Estimator::predict(const InputFn& input, const PredictArguments& options) {
  return EstimatorPredictions(std::make_unique<EstimatorPredictions::Insides>(
      EstimatorPredictions::Insides{insides_->log, insides_->estimator.predict(input, options), {}}));
}

EstimatorPredictions::EstimatorPredictions(std::unique_ptr<Insides> insides) : insides_(std::move(insides)) {}
EstimatorPredictions::EstimatorPredictions(EstimatorPredictions&&) noexcept = default;
EstimatorPredictions::~EstimatorPredictions() = default;

const PredictedRow* EstimatorPredictions::next() {
  const runtime::PredictedRow* row = insides_->predictions.next();
  insides_->row.row_ = row;
  return row == nullptr ? nullptr : &insides_->row;
}

void EstimatorPredictions::close() { insides_->predictions.close(); }

const std::string& EstimatorPredictions::checkpoint() const noexcept { return insides_->predictions.checkpoint(); }

namespace {

const runtime::PredictedRow& inner_row(const void* row) { return *static_cast<const runtime::PredictedRow*>(row); }

}  // namespace

TensorView PredictedRow::operator[](std::string_view name) const { return inner_row(row_)[name]; }
TensorView PredictedRow::value() const { return inner_row(row_).value(); }
const std::vector<std::string>& PredictedRow::names() const noexcept { return inner_row(row_).names(); }
TensorView PredictedRow::at(std::size_t i) const { return inner_row(row_).at(i); }

}  // namespace belay
