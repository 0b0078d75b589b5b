// SPDX-License-Identifier: Apache-2.0
// What a model predicts for the examples of an input, computed as it is read.
//
//   Predictions predictions(ops, environment, model, input, hooks, {.fill = [&](DirectSession& s) { ... }});
//   while (const Prediction* batch = predictions.next_batch()) writer->write(*batch);
//
//   for (const Prediction& example : predictions) use(example["class"].scalar<std::int64_t>());
//
// Nothing is built, opened or called before the first one is asked for: then the model builds its graph in mode
// kPredict from the input's features, and a session with the hooks is made. Labels are taken from the input with the
// features and not given to the model. The session's own part is TensorFlow's:
//
//   begin of each hook, initialization, fill, the input's thread, after_create_session of each hook; a run with hooks
//   for each batch; end of each hook where the input ends or somebody asks to stop, on_error where something fails
//
// A preemption (ABORTED, UNAVAILABLE) is an error like others: a session made anew would begin the input again, and
// predict its examples twice. One that is dropped before its end closes its session without the hooks' end.
//
// Where the input begins a second pass over its examples there is one warning, since it may never end. That shows in
// the positions of its batches, whatever it says of its size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/data/input_feed.h"
#include "runtime/monitored/layers/monitored_session.h"
#include "runtime/monitored/model/build_model.h"
#include "runtime/monitored/run/run_environment.h"

namespace belay::runtime {

// Of a batch: the first dimension of each value is the examples. Or of one example, without that dimension.
struct Prediction {
  std::span<const std::string> names;
  std::span<const TensorView> values;  // by names
  TensorView id;                       // has_value() is false where the input has no kIdName (data/input_service.h)
  std::int64_t examples = 1;

  // NOT_FOUND lists the names.
  TensorView operator[](std::string_view name) const;
};

// The first dimension of a batch's values and of its ids. INVALID_ARGUMENT where two differ, naming both, and where one
// has none.
std::int64_t common_examples(const Prediction& batch);

struct PredictOptions {
  std::vector<std::string> predict_keys =
      {};  // which of the model's predictions; empty: all. Their order is the model's
  // True: the first dimensions of a batch must agree, and next() goes from example to example. False: batches may be
  // unequal, and next() goes from batch to batch.
  bool yield_single_examples = true;
  // Fills the variables of the session, which are initialized by then: from a checkpoint, say. Empty: they stay so.
  std::function<void(DirectSession&)> fill = {};
  // Before the session with the hooks is made: for those that the model brings.
  std::function<void(const ModelOutputs&)> on_built = {};
  CallMonitor* monitor = nullptr;  // of the thread that reads; borrowed, may be null
  // What the training's input declares as labels, for an input that has none; see build_model.h.
  std::vector<DeclaredLabel> declared = {};
};

// [session], except where it says otherwise.
class Predictions {
 public:
  // Everything is borrowed but the input, which feeds one session at a time.
  Predictions(const OpRegistry& ops, const RunEnvironment& environment, PluginInstance& model,
              std::shared_ptr<InputFeed> input, HookSet& hooks, PredictOptions options = {});
  ~Predictions();
  Predictions(const Predictions&) = delete;
  Predictions& operator=(const Predictions&) = delete;

  // The next batch; null at the end. It is valid until the next call of any function here. An error ends the
  // predictions: the next call is FAILED_PRECONDITION.
  //
  // The first call is INVALID_ARGUMENT where a key is none of the model's predictions, which it lists, and where the
  // model has none.
  const Prediction* next_batch();
  // The next example, of this batch or the next one; or the next batch (yield_single_examples).
  const Prediction* next();
  // The end, now: as if the input had ended.
  void close();
  // The same from another thread, a signal's say: a run that waits for input ends with nothing, and next returns null.
  void stop_now(const std::string& reason);

  // So far.
  std::int64_t batches() const noexcept { return batches_; }
  std::int64_t examples() const noexcept { return examples_; }
  // Why it ended; kNone before.
  EndReason end_reason() const { return session_ == nullptr ? EndReason{} : session_->end_reason(); }
  // Null before the first batch and behind the last one.
  std::shared_ptr<DirectSession> raw_session() { return session_ == nullptr ? nullptr : session_->raw_session(); }

  // For a range-based loop, which goes by next(). Begun once.
  class Iterator {
   public:
    using value_type = Prediction;
    using difference_type = std::ptrdiff_t;
    explicit Iterator(Predictions& of) : of_(&of), at_(of.next()) {}
    const Prediction& operator*() const noexcept { return *at_; }
    Iterator& operator++() {
      at_ = of_->next();
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t) const noexcept { return at_ == nullptr; }

   private:
    Predictions* of_;
    const Prediction* at_;
  };
  Iterator begin() { return Iterator(*this); }
  std::default_sentinel_t end() const noexcept { return {}; }

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
  FetchSet fetches_;  // the predictions, the ids where there are some, the shape of a feature, the batch
  RunCall call_;
  std::mutex mutex_;  // of the session's pointer and the reason, for stop_now
  std::optional<std::string> stop_reason_;
  std::unique_ptr<MonitoredSession> session_;
  std::optional<Run> run_;  // of the batch that is being read

  std::vector<TensorView> values_, example_values_;
  Prediction batch_, example_;
  std::int64_t next_example_ = 0;  // of the batch
  std::int64_t batches_ = 0, examples_ = 0;
  bool warned_ = false;
};

}  // namespace belay::runtime
