// SPDX-License-Identifier: Apache-2.0
// An Input delivers batches of examples.
//
//   spec -> open -> (seek | next)*
//
//   class Count final : public belay::Input {
//    public:
//     void spec(belay::InputSpec& s) override { x_ = s.feature("x", belay::DType::kInt64, {-1}); }
//     void open(const belay::OpenArgs&) override {}
//     bool next(belay::Batch& batch, belay::Position& position) override {
//       std::int64_t* x = batch.tensor(x_, {32}).data<std::int64_t>();
//       for (int i = 0; i < 32; ++i) x[i] = at_ + i;
//       position = {0, at_ += 32};
//       return true;
//     }
//     void seek(const belay::Position& position) override { at_ = position.index; }
//    private:
//     std::uint32_t x_ = 0;
//     std::int64_t at_ = 0;
//   };
//
// spec declares names, dtypes and partial shapes before the model is built. next fills one batch in memory that the
// host passes (the first on the main thread, then on a feeding thread, never two at once) and says where the input is
// after it; seek goes back there, so that a resumed run sees the same batches as one that never stopped. Seed, shard
// and position decide a batch. ExampleOrder does the bookkeeping for numbered examples, DecodePool decodes them in
// parallel.
//
// What a training learned from its data belongs to the model: names of columns and classes, and what the input fitted,
// such as the mean of a column. spec declares them; the host keeps them in checkpoints and exports. Another input of
// the model (an evaluation, a prediction, a resumed training) reads them in spec and delivers the same:
//
//   void spec(belay::InputSpec& s) override {
//     columns_ = s.learned_columns("x").value_or(columns_of_file());     // the training's, in the training's order
//     x_ = s.feature("x", belay::DType::kFloat32, {-1, static_cast<std::int64_t>(columns_.size())});
//     s.set_columns(x_, columns_);
//     mean_ = s.learned_values("mean").value_or(mean_of_file());         // the training's, or fitted here
//     s.keep("mean", mean_);
//   }
//
// The host compares what spec declares with the training's schema, by name. It puts features, columns and class numbers
// of an input that declares their names into the training's order. What cannot be matched is an error before the first
// batch.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "belay/detail/sized.h"
#include "belay/host.h"
#include "belay/tensor.h"

namespace belay {
inline namespace v0 {

// Where the next batch begins: the next example to deliver is `index` in the order of `epoch`, both from 0. An input
// that cannot go back there by these two alone puts what it needs into `bytes`, at most BELAY_POSITION_BYTES; they are
// kept in checkpoints, and seek gets them back as they were. Empty when next is called.
struct Position {
  std::int64_t epoch = 0;
  std::int64_t index = 0;
  std::string bytes = {};
};

// What the batches of an input are for.
enum class InputUse : std::int32_t {
  kTraining = BELAY_INPUT_TRAINING,
  kEvaluation = BELAY_INPUT_EVALUATION,
  kPrediction = BELAY_INPUT_PREDICTION,  // no label is needed
};

// What spec declares. Slots are numbered from 0 in the order of the calls; names are different from each other. For the
// call of spec alone.
class InputSpec {
 public:
  InputSpec(const belay_input_service* api, belay_input_spec* self) noexcept : api_(api), self_(self) {}
  // What the model computes from. dims[0] is the batch, usually -1; other unknown dimensions may be -1 too. Returns the
  // slot.
  std::uint32_t feature(std::string_view name, DType dtype, const Dims& dims) {
    return declare(BELAY_FEATURE, name, dtype, dims);
  }
  // What it should compute, absent when it predicts. Otherwise as a feature.
  std::uint32_t label(std::string_view name, DType dtype, const Dims& dims) {
    return declare(BELAY_LABEL, name, dtype, dims);
  }
  // The values of an integer slot (int32, int64 or uint8) are in [0, classes), classes at least 1: the size of a
  // vocabulary, the number of classes. A model reads it as ModelContext::feature_classes or label_classes. Values
  // outside are not looked for.
  void set_classes(std::uint32_t slot, std::int64_t classes) {
    detail::Status status;
    status.check(api_->set_classes(self_, slot, classes, status));
  }
  // What these values mean: names[i] is value i. With them a prediction names its class, and a language model writes
  // text: its names are the characters of the vocabulary. The names are copied; all differ, and are UTF-8 or single
  // bytes. Implies set_classes(names.size()); a call with another number is INVALID_ARGUMENT.
  void set_class_names(std::uint32_t slot, const std::vector<std::string>& names) {
    const std::vector<belay_str> raw = raw_names(names);
    detail::Status status;
    status.check(api_->set_class_names(self_, slot, raw.data(), raw.size(), status));
  }
  // The names of what stands in the slot's last dimension, in order: as many as it has elements, all different.
  void set_columns(std::uint32_t slot, const std::vector<std::string>& names) {
    const std::vector<belay_str> raw = raw_names(names);
    detail::Status status;
    status.check(api_->set_columns(self_, slot, raw.data(), raw.size(), status));
  }
  // Keeps what this input fitted on the examples of the training. A name that is that of an option, or begins with it
  // and a dot ("standardize.mean"), belongs to the option: see Option::learned() in belay/options.h. Words that end in
  // ".dtype" ("scale.dtype") say for which elements the option's value is. They are compared if an input inherits it.
  void keep(std::string_view name, const std::vector<double>& values) {
    detail::Status status;
    status.check(api_->keep_values(self_, detail::str(name), values.data(), values.size(), status));
  }
  void keep(std::string_view name, const std::vector<std::string>& words) {
    const std::vector<belay_str> raw = raw_names(words);
    detail::Status status;
    status.check(api_->keep_words(self_, detail::str(name), raw.data(), raw.size(), status));
  }

  InputUse use() const { return purpose().first; }
  // Whether a training's schema is known, which this input has to match. False in the first start of a training.
  bool has_learned() const { return purpose().second; }
  // What the training's input declared or kept under a name; none: nothing of that name, or no schema is known. A
  // feature or label is named as the training's input named it.
  std::optional<std::vector<std::string>> learned_columns(std::string_view component) const {
    return learned_words(BELAY_LEARNED_COLUMNS, component);
  }
  std::optional<std::vector<std::string>> learned_class_names(std::string_view component) const {
    return learned_words(BELAY_LEARNED_CLASS_NAMES, component);
  }
  std::optional<std::vector<std::string>> learned_words(std::string_view name) const {
    return learned_words(BELAY_LEARNED_WORDS, name);
  }
  std::optional<std::vector<double>> learned_values(std::string_view name) const {
    belay_learned found = detail::sized<belay_learned>();
    if (!learned(BELAY_LEARNED_VALUES, name, found)) return std::nullopt;
    return std::vector<double>(found.values, found.values + found.count);
  }

 private:
  static std::vector<belay_str> raw_names(const std::vector<std::string>& names) {
    std::vector<belay_str> raw;
    raw.reserve(names.size());
    for (const std::string& name : names) raw.push_back(detail::str(name));
    return raw;
  }
  // A host without these slots knows no schema.
  std::pair<InputUse, bool> purpose() const {
    std::int32_t use = BELAY_INPUT_TRAINING, has_learned = 0;
    detail::Status status;
    const std::int32_t code = api_->use(self_, &use, &has_learned, status);
    if (code != BELAY_UNIMPLEMENTED) status.check(code);
    return {static_cast<InputUse>(use), has_learned != 0};
  }
  bool learned(std::int32_t what, std::string_view name, belay_learned& found) const {
    detail::Status status;
    const std::int32_t code = api_->learned(self_, what, detail::str(name), &found, status);
    if (code == BELAY_NOT_FOUND || code == BELAY_UNIMPLEMENTED) return false;
    status.check(code);
    return true;
  }
  std::optional<std::vector<std::string>> learned_words(std::int32_t what, std::string_view name) const {
    belay_learned found = detail::sized<belay_learned>();
    if (!learned(what, name, found)) return std::nullopt;
    std::vector<std::string> words;
    words.reserve(found.count);
    for (std::uint64_t i = 0; i < found.count; ++i) words.emplace_back(detail::view(found.words[i]));
    return words;
  }
  std::uint32_t declare(std::int32_t role, std::string_view name, DType dtype, const Dims& dims) {
    detail::Status status;
    status.check(api_->declare(self_, role, detail::str(name), static_cast<std::int32_t>(dtype),
                               static_cast<std::int32_t>(dims.size()), dims.data(), status));
    return slots_++;
  }
  const belay_input_service* api_;
  belay_input_spec* self_;
  std::uint32_t slots_ = 0;
};

// The batch that next fills; every slot must get its tensor. For the call of next alone.
class Batch {
 public:
  Batch(const belay_input_service* api, belay_batch* self) noexcept : api_(api), self_(self) {}
  // Memory for the slot's tensor, 64-byte aligned, not zeroed (strings: empty). dims are all known and fit the declared
  // ones; dims[0] is the number of examples, the same for all slots. Valid until next returns.
  TensorView tensor(std::uint32_t slot, const Dims& dims) {
    belay_tensor t{};
    detail::Status status;
    status.check(api_->tensor(self_, slot, static_cast<std::int32_t>(dims.size()), dims.data(), &t, status));
    return TensorView(t);
  }
  // Sets element `element` (row-major) of a string tensor, after tensor() was called for the slot; the bytes are
  // copied.
  void set_string(std::uint32_t slot, std::uint64_t element, std::string_view bytes) {
    detail::Status status;
    status.check(api_->set_string(self_, slot, element, detail::str(bytes), status));
  }

 private:
  const belay_input_service* api_;
  belay_batch* self_;
};

// What open gets; the same in a resumed run, where the manifest is the same.
struct OpenArgs {
  std::int64_t shard = 0;   // this replica's share ...
  std::int64_t shards = 1;  // ... of this many
  std::uint64_t seed = 0;   // keys shuffling and augmentation
};

// A plugin of the kind "input"; [input] of a manifest names it. An error that it throws ends the run, but for ABORTED
// and UNAVAILABLE, after which the session is made anew and seek comes.
class Input : public Plugin {
 public:
  // [main] Declares features and labels, at least one of them; may read files to know their shapes.
  virtual void spec(InputSpec& spec) = 0;
  // [main] Fails where a file is missing or there is nothing to read.
  virtual void open(const OpenArgs& args) = 0;
  // [input] Fills one batch and sets `position` to where the next one begins; false at the end, and again when asked
  // again. It may wait, and should then override interrupt or ask host().stopping(). If it throws, it has not moved.
  virtual bool next(Batch& batch, Position& position) = 0;
  // [main] or [input] The next batch begins at `position`, which an earlier next returned; also after the end, to begin
  // anew. A position that it cannot have is INVALID_ARGUMENT.
  virtual void seek(const Position& position) = 0;
  // Makes a next that waits (for a network, a pipe) return soon, since the run is being stopped: next then throws
  // Error(Code::kCancelled, ...) or returns false. Called from another thread, also while no next is inside; it must
  // not wait. What it leaves behind counts until the next seek: the input is not used again before one. Only inputs
  // that may wait for long override it. [any]
  virtual void interrupt() {}
  // [main] Examples in one epoch of this shard, after open; -1: cannot say. For people: the run's plan shows it.
  virtual std::int64_t size() const { return -1; }
};

}  // namespace v0
}  // namespace belay
