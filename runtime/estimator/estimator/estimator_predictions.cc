// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/estimator/estimator_predictions.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "runtime/estimator/estimator/estimator_model.h"
#include "runtime/estimator/host/session_host.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {

// ---- the session ----

namespace {

// Whether a run may end: only a queue comes to an end.
bool may_end(const NodeGraph& graph) {
  for (std::uint32_t id = 0; id < graph.size(); ++id)
    if (graph.node(id).op->role == Role::kQueue) return true;
  return false;
}

}  // namespace

class PredictionSession {
 public:
  PredictionSession(const EstimatorSettings& settings, const InputFn& input, const PredictArguments& options);
  const PredictedRow* next();
  void close() { session_->close(); }
  EstimatorRun& run() noexcept { return run_; }

 private:
  void choose(const std::vector<std::string>& keys);
  bool take_batch();
  void check_batch();
  void point_at(std::int64_t example);

  EstimatorRun run_;
  std::optional<EstimatorModel> model_;
  SessionHost host_;
  std::unique_ptr<MonitoredSession> session_;
  const bool single_;
  std::vector<std::string> names_;
  FetchSet fetches_;
  RunCall call_;
  std::optional<Run> batch_;
  std::vector<belay_tensor> whole_;  // of the batch
  std::int64_t examples_ = 0;
  std::int64_t next_ = 0;
  PredictedRow prediction_;
};

PredictionSession::PredictionSession(const EstimatorSettings& settings, const InputFn& input,
                                     const PredictArguments& options)
    : run_(settings, Mode::kPredict, ""),
      host_(run_.host(), {.mode = Mode::kPredict}),
      single_(options.yield_single_examples) {
  check_system(run_.host());
  check_hooks("predict's hooks", options.hooks);
  run_.choose_checkpoint(options.checkpoint_path);
  model_.emplace(run_, Mode::kPredict, input);
  if (!may_end(model_->graph()))
    run_.host().log().warning("", "the input of predict has no queue: it never ends, and neither does predict");
  choose(options.predict_keys);
  model_->add_hooks(host_, model_->input_hooks());
  model_->add_hooks(host_, options.hooks);
  model_->add_hooks(host_, model_->pieces().prediction_hooks);
  session_ = host_.open(std::make_shared<ChiefSessionCreator>(
      model_->graph(), run_.host().environment(), ChiefSessionCreator::Options{.scaffold = model_->scaffold(host_)}));
}

void PredictionSession::choose(const std::vector<std::string>& keys) {
  const std::vector<NamedOutput>& all = model_->pieces().predictions;
  if (!keys.empty() && all.size() == 1 && all[0].name.empty())
    fail(Code::kInvalidArgument, "[B5032] predict_keys = " + joined(keys) +
                                     ", and the model's prediction is a tensor without a "
                                     "name; leave them out");
  std::vector<FetchRef> fetches;
  std::vector<std::string> there;
  for (const NamedOutput& p : all) {
    there.push_back(p.name);
    if (!keys.empty() && std::find(keys.begin(), keys.end(), p.name) == keys.end()) continue;
    names_.push_back(p.name);
    fetches.emplace_back(p.output);
  }
  if (fetches.empty())
    fail(Code::kInvalidArgument,
         "[B5032] predict_keys = " + joined(keys) + ": the model has none of them, but " + joined(there));
  fetches.insert(fetches.end(), model_->batch().begin(), model_->batch().end());
  fetches_ = FetchSet(fetches);
  call_.fetches = &fetches_;
  prediction_ = PredictedRow(names_);
  whole_.resize(names_.size());
}

const PredictedRow* PredictionSession::next() {
  if (next_ >= examples_ && !take_batch()) return nullptr;
  point_at(next_++);
  return &prediction_;
}

// Returns false if the session has ended.
bool PredictionSession::take_batch() {
  batch_.reset();
  do {
    if (session_->should_stop()) {
      session_->close();
      return false;
    }
    try {
      batch_ = session_->run(call_);
      check_batch();
    } catch (...) {
      if (session_->leave(current_error())) return false;
      throw;
    }
  } while (examples_ == 0);
  next_ = 0;
  return true;
}

void PredictionSession::check_batch() {
  for (std::size_t i = 0; i < whole_.size(); ++i) whole_[i] = batch_->result(fetches_, i);
  examples_ = 1;
  if (!single_) return;
  for (std::size_t i = 0; i < whole_.size(); ++i) {
    const TensorView value(whole_[i]);
    const std::string name = names_[i].empty() ? "the prediction" : "the prediction '" + names_[i] + "'";
    if (value.rank() == 0)
      fail(Code::kInvalidArgument,
           fmt::format("[B5035] {} is a scalar, not a value for each example; set yield_single_examples to false",
                       name));
    if (i > 0 && value.dim(0) != examples_)
      fail(Code::kInvalidArgument,
           fmt::format(
               "[B5035] {} is of {} examples, '{}' of {}; set yield_single_examples to false for batches as they are",
               name, value.dim(0), names_[0], examples_));
    examples_ = value.dim(0);
  }
}

void PredictionSession::point_at(std::int64_t example) {
  for (std::size_t i = 0; i < whole_.size(); ++i) {
    const TensorView whole(whole_[i]);
    prediction_.point_at(i, single_ ? whole.row(example).raw() : whole.raw());
  }
}

}  // namespace belay::runtime

namespace belay {

// ---- PredictedRow ----

TensorView PredictedRow::operator[](std::string_view name) const {
  for (std::size_t i = 0; i < names_->size(); ++i)
    if ((*names_)[i] == name) return {values_[i]};
  fail(Code::kNotFound,
       "[B5032] there is no prediction '" + std::string(name) + "'" + did_you_mean(std::string(name), *names_));
}

TensorView PredictedRow::value() const {
  if (values_.size() != 1)
    fail(Code::kInvalidArgument,
         fmt::format("[B5032] there is no single prediction, but {}: {}; choose one by its name", values_.size(),
                     runtime::joined(*names_)));
  return {values_[0]};
}

const std::vector<std::string>& PredictedRow::names() const noexcept { return *names_; }
TensorView PredictedRow::at(std::size_t i) const { return {values_[i]}; }

// ---- EstimatorPredictions ----

EstimatorPredictions::EstimatorPredictions(std::unique_ptr<Insides> insides) : insides_(std::move(insides)) {}
EstimatorPredictions::EstimatorPredictions(EstimatorPredictions&&) noexcept = default;
EstimatorPredictions::~EstimatorPredictions() = default;

const PredictedRow* EstimatorPredictions::next() {
  Insides& in = *insides_;
  if (!std::exchange(in.begun, true)) {
    in.session = std::make_shared<runtime::PredictionSession>(*in.settings, in.input, in.options);
    in.checkpoint = in.session->run().checkpoint();
  }
  if (in.session == nullptr) return nullptr;
  try {
    if (const PredictedRow* prediction = in.session->next()) return prediction;
  } catch (...) {
    in.session.reset();
    throw;
  }
  in.session.reset();
  return nullptr;
}

void EstimatorPredictions::close() {
  insides_->begun = true;
  if (const auto ending = std::exchange(insides_->session, nullptr)) ending->close();
}

const std::string& EstimatorPredictions::checkpoint() const noexcept { return insides_->checkpoint; }

}  // namespace belay
