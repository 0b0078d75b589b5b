// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/prediction/predictions.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "runtime/monitored/saving/default_pieces.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

std::string shape_of_value(const std::string& name, const TensorView& value) {
  return "prediction " + single_quoted(name) + " is " + dims_text(value.dims());
}

}  // namespace

std::int64_t common_examples(const Prediction& batch) {
  const TensorView& first = batch.values[0];
  for (std::size_t i = 0; i < batch.values.size(); ++i) {
    const TensorView& value = batch.values[i];
    if (value.rank() == 0)
      fail(Code::kInvalidArgument, "[B5035] prediction " + single_quoted(batch.names[i]) +
                                       " is a scalar; a prediction has a value for each example, the first dimension");
    if (value.dim(0) != first.dim(0))
      fail(Code::kInvalidArgument,
           "[B5035] the predictions are not of as many examples: " + shape_of_value(batch.names[0], first) + ", " +
               shape_of_value(batch.names[i], value));
  }
  if (batch.id.has_value() && (batch.id.rank() == 0 || batch.id.dim(0) != first.dim(0)))
    fail(Code::kInvalidArgument, "[B5035] there is not an id for each example: the input's 'id' is " +
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
    fail(Code::kInvalidArgument,
         fmt::format("[B5032] {} has no predictions; its build must call prediction(...)", model_.label()));
  std::vector<std::string> all, unknown;
  for (const NamedOutput& p : outputs.predictions) all.push_back(p.name);
  const std::vector<std::string>& keys = options_.predict_keys;
  for (const std::string& key : keys)
    if (std::ranges::find(all, key) == all.end()) unknown.push_back(single_quoted(key));
  if (!unknown.empty())
    fail(Code::kInvalidArgument, fmt::format("[B5032] {} has no prediction {}; predict.keys (--keys) may name: {}",
                                             model_.label(), joined(unknown), joined(all)));
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
  const std::vector<DeclaredLabel> own = input_->labels();
  const ModelOutputs outputs =
      build_model(model_, *graph_, Mode::kPredict, tensors.features, {}, own.empty() ? options_.declared : own);
  choose(outputs, fetches);
  if (options_.on_built) options_.on_built(outputs);
  has_id_ = static_cast<bool>(tensors.id);
  if (has_id_) fetches.emplace_back(tensors.id);
  fetches.emplace_back(tensors.batch.operation());  // a model without a feature would never reach the input's end
  fetches_ = FetchSet(fetches);
  call_.fetches = &fetches_;
  values_.resize(names_.size());

  ScaffoldOptions options;
  if (options_.fill) {
    options.init_op = default_init_op(graph_->handle());  // not the model's operation, which is for a new run
    options.host_init = [this](const SessionScaffold&, DirectSession& session) { options_.fill(session); };
  }
  MonitoredSessionOptions of_session;
  of_session.monitor = options_.monitor;
  session_ = std::make_unique<SingularMonitoredSession>(
      *graph_, environment_, hooks_,
      ChiefSessionCreator::Options{.scaffold = std::make_shared<SessionScaffold>(std::move(options))},
      std::move(of_session));
  state_ = State::kOpen;
}

void Predictions::forget_batch() noexcept {
  batch_.values = {};
  batch_.id = {};
  batch_.examples = 0;
  run_.reset();
}

const Prediction* Predictions::next_batch() {
  if (state_ == State::kOver) return nullptr;
  if (state_ == State::kFailed) fail(Code::kFailedPrecondition, "[B5071] the predictions have ended with an error");
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
  forget_batch();
  state_ = State::kFailed;  // until it is closed
  session_->close();
  state_ = State::kOver;
  return nullptr;
}

void Predictions::take_values() {
  const std::size_t n = names_.size();
  for (std::size_t i = 0; i < n; ++i) values_[i] = TensorView(run_->result(fetches_, i));
  batch_.names = names_;
  batch_.values = values_;
  if (has_id_) batch_.id = TensorView(run_->result(fetches_, n));
  batch_.examples = common_examples(batch_);
  if (!warned_ && input_->begun_again()) {
    warned_ = true;
    environment_.log.warning("",
                             "the input of the predictions begins its examples again, so it may never end; with "
                             "epochs = 1 each is predicted once");
  }
}

}  // namespace belay::runtime
