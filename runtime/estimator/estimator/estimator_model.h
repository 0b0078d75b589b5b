// SPDX-License-Identifier: Apache-2.0
// One mode's graph in a call of an Estimator, as the program's functions build it. A training has one, and each
// evaluation inside it has one.
//
//   EstimatorModel model(run, Mode::kEval, input);          // the program's functions are called
//   SessionHost session(run.host(), {});
//   model.add_hooks(session, model.input_hooks());
//   ... ChiefSessionCreator with model.scaffold(session) ...
//
// The run outlives it. [main]
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/estimator/estimator/estimator_run.h"
#include "runtime/estimator/estimator/estimator_spec.h"
#include "runtime/estimator/host/model_graph.h"
#include "runtime/estimator/host/session_host.h"

namespace belay::runtime {

class EstimatorModel {
 public:
  // Adds the global step, the input and the model, in this order.
  EstimatorModel(EstimatorRun& run, Mode mode, const InputFn& input);
  ~EstimatorModel();
  EstimatorModel(const EstimatorModel&) = delete;
  EstimatorModel& operator=(const EstimatorModel&) = delete;

  EstimatorRun& run() const noexcept { return run_; }
  NodeGraph& graph() noexcept { return graph_; }
  const EstimatorPieces& pieces() const noexcept { return spec_->pieces(); }
  const std::vector<OwnHook>& input_hooks() const noexcept { return input_hooks_; }
  // A run fetches these besides its own fetches, so it takes a batch. Otherwise a model that reads nothing of its input
  // would never reach the input's end. Empty without features.
  const std::vector<Output>& batch() const noexcept { return batch_; }

  // The initial values that a model plugin sets; empty: there are none.
  const InitialValues& initial_values() const noexcept { return spec_->insides().initial_values; }

  // ---- of input_plugin and model_plugin
  PluginInstance& create(PluginKind kind, const PluginUse& use) { return run_.create(kind, use); }
  InputFeed::Tensors open_input(const PluginUse& use, std::int64_t prefetch);

  // ---- evaluation and prediction
  // Restores the run's checkpoint instead of initializing. Without a checkpoint the warm start comes first. `session`
  // has the warm start's instance, and outlives the scaffold.
  std::shared_ptr<SessionScaffold> scaffold(SessionHost& session);
  // Calls `fill`, which sets every global variable, instead of initializing.
  std::shared_ptr<SessionScaffold> filled(std::function<void(DirectSession&)> fill);
  // Adds them to the session in this order. INVALID_ARGUMENT: a name exists already.
  void add_hooks(SessionHost& session, const std::vector<OwnHook>& hooks);

 private:
  ScaffoldOptions scaffold_pieces() const;
  // Compares the result of the program's function with the training's schema. Puts its features into that order.
  void match_own(InputResult& in);

  EstimatorRun& run_;
  const Mode mode_;
  NodeGraph graph_;
  std::list<RunInput> inputs_;
  std::vector<OwnHook> input_hooks_;
  std::vector<Output> batch_;
  std::optional<EstimatorSpec> spec_;
};

}  // namespace belay::runtime
