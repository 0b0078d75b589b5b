// SPDX-License-Identifier: Apache-2.0
// A model's predictions for the examples of an input, computed as they are read.
//
//   Predictions predictions(ops, environment, model, input, hooks, {.fill = [&](DirectSession& s) { ... }});
//   while (const Prediction* batch = predictions.next_batch()) writer->write(*batch);
//
// Nothing is built, opened or called before the first batch is requested. Then the model builds its graph in mode
// kPredict from the input's features, and a session with the hooks is made. The input delivers features and labels, and
// the model gets the features alone. The session works like TensorFlow's:
//
//   begin of each hook, initialization, fill, the input's thread, after_create_session of each hook; a run with hooks
//   for each batch; end of each hook if the input ends or somebody asks to stop, on_error if something fails
//
// A preemption (ABORTED, UNAVAILABLE) is an error like others. A new session would begin the input again, and predict
// its examples twice. An object destroyed before its end closes its session without the hooks' end.
//
// There is one warning if the input begins a second pass over its examples, since it may never end. The positions of
// its batches show that, whatever size it declares.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/data/input_feed.h"
#include "runtime/monitored/layers/monitored_session.h"
#include "runtime/monitored/model/build_model.h"
#include "runtime/monitored/run/run_environment.h"

namespace belay::runtime {

// The predictions for a batch. The first dimension of each value is the examples.
struct Prediction {
  std::span<const std::string> names;
  std::span<const TensorView> values;  // by names
  TensorView id;                       // has_value() is false if the input has no kIdName (data/input_service.h)
  std::int64_t examples = 1;
};

// The first dimension of a batch's values and of its ids. INVALID_ARGUMENT if two differ, with both names, or if one
// has none.
std::int64_t common_examples(const Prediction& batch);

struct PredictOptions {
  // The names of the model's predictions to return; empty: all. Their order is the model's.
  std::vector<std::string> predict_keys = {};
  // Fills the variables of the session, for example from a checkpoint. They are initialized before. Empty: they stay
  // so.
  std::function<void(DirectSession&)> fill = {};
  // Called before the session with the hooks is made, for the model's hooks.
  std::function<void(const ModelOutputs&)> on_built = {};
  CallMonitor* monitor = nullptr;  // of the thread that reads; borrowed, may be null
  // The labels of the training's input, for an input that declares none; see build_model.h.
  std::vector<DeclaredLabel> declared = {};
};

// [session]
class Predictions {
 public:
  // Everything is borrowed except the input, which feeds one session at a time.
  Predictions(const OpRegistry& ops, const RunEnvironment& environment, PluginInstance& model,
              std::shared_ptr<InputFeed> input, HookSet& hooks, PredictOptions options = {});
  ~Predictions();
  Predictions(const Predictions&) = delete;
  Predictions& operator=(const Predictions&) = delete;

  // The next batch; null at the end. It is valid until the next call. An error ends the predictions: the next call is
  // FAILED_PRECONDITION.
  //
  // The first call is INVALID_ARGUMENT if a key is none of the model's predictions, or if the model has none. The error
  // lists the predictions.
  const Prediction* next_batch();

 private:
  enum class State { kNotBegun, kOpen, kOver, kFailed };

  void open();
  void choose(const ModelOutputs& outputs, std::vector<FetchRef>& fetches);
  void take_values();
  void forget_batch() noexcept;

  const OpRegistry& ops_;
  const RunEnvironment& environment_;
  PluginInstance& model_;
  const std::shared_ptr<InputFeed> input_;
  HookSet& hooks_;
  const PredictOptions options_;

  State state_ = State::kNotBegun;
  std::optional<NodeGraph> graph_;
  std::vector<std::string> names_;
  bool has_id_ = false;
  FetchSet fetches_;  // the predictions, the ids if there are some, the batch
  RunCall call_;
  std::unique_ptr<MonitoredSession> session_;
  std::optional<Run> run_;  // of the current batch

  std::vector<TensorView> values_;
  Prediction batch_;
  bool warned_ = false;
};

}  // namespace belay::runtime
