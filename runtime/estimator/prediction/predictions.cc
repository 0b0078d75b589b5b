// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/prediction/predictions.h"

#include <algorithm>
#include <utility>

#include "belay/ops/shape.h"
#include "runtime/monitored/saving/default_pieces.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

std::string shape_of_value(const std::string& name, const TensorView& value) {
  return "prediction " + single_quoted(name) + " is " + dims_text(value.dims());
}

}  // namespace

TensorView Prediction::operator[](std::string_view name) const {
  const auto at = std::ranges::find(names, name);
  if (at == names.end())
    fail(Code::kNotFound, "there is no prediction " + single_quoted(name) +
                              "; there are: " + joined(std::vector<std::string>(names.begin(), names.end())));
  return values[static_cast<std::size_t>(at - names.begin())];
}

std::int64_t common_examples(const Prediction& batch) {
  const TensorView& first = batch.values[0];
  for (std::size_t i = 0; i < batch.values.size(); ++i) {
    const TensorView& value = batch.values[i];
    if (value.rank() == 0)
      fail(Code::kInvalidArgument, "prediction " + single_quoted(batch.names[i]) +
                                       " is a scalar; a prediction has a value for each example, the first dimension");
    if (value.dim(0) != first.dim(0))
      fail(Code::kInvalidArgument,
           "the predictions are not of as many examples: " + shape_of_value(batch.names[0], first) + ", " +
               shape_of_value(batch.names[i], value));
  }
  if (batch.id.has_value() && (batch.id.rank() == 0 || batch.id.dim(0) != first.dim(0)))
    fail(Code::kInvalidArgument, "there is not an id for each example: the input's 'id' is " +
                                     dims_text(batch.id.dims()) + ", " + shape_of_value(batch.names[0], first));
  return first.dim(0);
}

Predictions::Predictions(const OpRegistry& ops, const RunEnvironment& environment, PluginInstance& model,
                         std::shared_ptr<InputFeed> input, HookSet& hooks, PredictOptions options)
    : ops_(ops),
      environment_(environment),
      model_(model),
      input_(std::move(input)),
      hooks_(hooks),
      options_(std::move(options)) {}

Predictions::~Predictions() = default;

void Predictions::choose(const ModelOutputs& outputs, std::vector<FetchRef>& fetches) {
  if (outputs.predictions.empty())
    fail(Code::kInvalidArgument, model_.label() + " has no predictions; its build must call prediction(...)");
  std::vector<std::string> all, unknown;
  for (const NamedOutput& p : outputs.predictions) all.push_back(p.name);
  const std::vector<std::string>& keys = options_.predict_keys;
  for (const std::string& key : keys)
    if (std::ranges::find(all, key) == all.end()) unknown.push_back(single_quoted(key));
  if (!unknown.empty())
    fail(Code::kInvalidArgument,
         model_.label() + " has no prediction " + joined(unknown) + "; predict.keys (--keys) may name: " + joined(all));
  for (const NamedOutput& p : outputs.predictions) {
    if (!keys.empty() && std::ranges::find(keys, p.name) == keys.end()) continue;
    names_.push_back(p.name);
    fetches.emplace_back(p.output);
  }
}

void Predictions::open() {
  graph_.emplace(ops_);
  const InputFeed::Tensors tensors = input_->add_to_graph(*graph_);
  std::vector<FetchRef> fetches;
  const std::vector<DeclaredLabel> own = declared_labels(input_->components());
  const ModelOutputs outputs =
      build_model(model_, *graph_, Mode::kPredict, tensors.features, {}, own.empty() ? options_.declared : own);
  choose(outputs, fetches);
  if (options_.on_built) options_.on_built(outputs);
  has_id_ = static_cast<bool>(tensors.id);
  if (has_id_) fetches.emplace_back(tensors.id);
  fetches.emplace_back(ops::shape(tensors.batch, "examples"));
  fetches.emplace_back(tensors.batch.operation());  // a model that uses no feature would never come to the input's end
  fetches_ = FetchSet(fetches);
  call_.fetches = &fetches_;
  values_.resize(names_.size());
  example_values_.resize(names_.size());

  ScaffoldOptions options;
  if (options_.fill) {
    options.init_op = default_init_op(graph_->handle());  // not the model's, which is for a new run
    options.host_init = [this](const SessionScaffold&, DirectSession& session) { options_.fill(session); };
  }
  MonitoredSessionOptions of_session;
  of_session.monitor = options_.monitor;
  auto session = std::make_unique<SingularMonitoredSession>(
      *graph_, environment_, hooks_,
      ChiefSessionCreator::Options{.scaffold = std::make_shared<SessionScaffold>(std::move(options))},
      std::move(of_session));
  const std::lock_guard lock(mutex_);
  session_ = std::move(session);
  state_ = State::kOpen;
  if (stop_reason_) session_->stop_now(*stop_reason_);
}

void Predictions::forget_batch() noexcept {
  batch_.values = {};
  batch_.id = {};
  next_example_ = batch_.examples = 0;
  run_.reset();
}

const Prediction* Predictions::next_batch() {
  if (state_ == State::kOver) return nullptr;
  if (state_ == State::kFailed) fail(Code::kFailedPrecondition, "the predictions have ended with an error");
  forget_batch();
  try {
    if (state_ == State::kNotBegun) {
      state_ = State::kFailed;  // until it is open
      open();
    }
    if (!session_->should_stop()) {
      run_ = session_->run(call_);
      take_values();
      return &batch_;
    }
  } catch (...) {
    const Error error = current_error();
    forget_batch();
    if (state_ != State::kOpen) throw;  // the hooks know it from the session that could not be made
    state_ = State::kFailed;
    if (!session_->leave(error)) throw;
    state_ = State::kOver;
    return nullptr;
  }
  close();
  return nullptr;
}

void Predictions::take_values() {
  const std::size_t n = names_.size();
  for (std::size_t i = 0; i < n; ++i) values_[i] = TensorView(run_->result(fetches_, i));
  batch_.names = names_;
  batch_.values = values_;
  if (has_id_) batch_.id = TensorView(run_->result(fetches_, n));
  if (options_.yield_single_examples) {
    batch_.examples = common_examples(batch_);
  } else {
    const TensorView shape(run_->result(fetches_, n + (has_id_ ? 1 : 0)));
    batch_.examples = shape.size() == 0 ? 1 : shape.data<const std::int64_t>()[0];
  }
  ++batches_;
  examples_ += batch_.examples;
  if (!warned_ && input_->begun_again()) {
    warned_ = true;
    environment_.log.warning("",
                             "the input of the predictions begins its examples again, so it may never end; with "
                             "epochs = 1 each is predicted once");
  }
}

const Prediction* Predictions::next() {
  if (!options_.yield_single_examples) return next_batch();
  while (run_ == std::nullopt || next_example_ == batch_.examples)
    if (next_batch() == nullptr) return nullptr;
  const std::int64_t i = next_example_++;
  for (std::size_t v = 0; v < values_.size(); ++v) example_values_[v] = values_[v].row(i);
  example_.names = names_;
  example_.values = example_values_;
  if (has_id_) example_.id = batch_.id.row(i);
  return &example_;
}

void Predictions::close() {
  forget_batch();
  if (state_ == State::kNotBegun) state_ = State::kOver;
  if (state_ != State::kOpen) return;
  state_ = State::kFailed;
  session_->close();
  state_ = State::kOver;
}

void Predictions::stop_now(const std::string& reason) {
  const std::lock_guard lock(mutex_);
  if (!stop_reason_) stop_reason_ = reason;
  if (session_ != nullptr) session_->stop_now(reason);
}

}  // namespace belay::runtime
