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
// spec declares names, dtypes and partial shapes before the model is built. next fills one batch in the host's memory,
// and returns the input's position after it. The first next is on the main thread, the others on a feeding thread; two
// calls never overlap. seek returns to a position, so a resumed run sees the same batches as a run without a stop.
// Seed, shard and position alone decide a batch. ExampleOrder manages the order of numbered examples; DecodePool
// decodes them in parallel.
//
// A model keeps data that its training learned: names of columns and classes, and fitted values such as the mean of a
// column. spec declares them, and the host keeps them in checkpoints and exports. Another input of the model (an
// evaluation, a prediction, a resumed training) reads them in spec and delivers the same:
//
//   void spec(belay::InputSpec& s) override {
//     columns_ = s.learned_columns("x").value_or(columns_of_file());     // the training's, in the training's order
//     x_ = s.feature("x", belay::DType::kFloat32, {-1, static_cast<std::int64_t>(columns_.size())});
//     s.set_columns(x_, columns_);
//     mean_ = s.learned_values("mean").value_or(mean_of_file());         // the training's, or fitted here
//     s.keep("mean", mean_);
//   }
//
// The host compares the declarations of spec with the training's schema, by name. If an input declares names, the host
// puts its features, columns and class numbers into the training's order. A name without a match is an error before the
// first batch.
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

// The place where the next batch begins: example `index` in the order of `epoch`, both from 0. Some inputs need more
// data to return there. They keep it in `bytes`, at most BELAY_POSITION_BYTES. Checkpoints hold the bytes, and seek
// gets them unchanged. They are empty when next is called.
struct Position {
  std::int64_t epoch = 0;
  std::int64_t index = 0;
  std::string bytes = {};
};

// The purpose of an input's batches.
enum class InputUse : std::int32_t {
  kTraining = BELAY_INPUT_TRAINING,
  kEvaluation = BELAY_INPUT_EVALUATION,
  kPrediction = BELAY_INPUT_PREDICTION,  // needs no label
};

// The declarations of spec. Slots are numbered from 0 in the order of the calls; all names differ. It is valid for the
// call of spec.
class InputSpec {
 public:
  InputSpec(const belay_input_service* api, belay_input_spec* self) noexcept : api_(api), self_(self) {}
  // Declares a tensor that the model computes from, and returns its slot. dims[0] is the batch, usually -1; other
  // unknown dimensions may be -1 too.
  std::uint32_t feature(std::string_view name, DType dtype, const Dims& dims) {
    return declare(BELAY_FEATURE, name, dtype, dims);
  }
  // Declares a tensor that the model should compute. It is absent in predictions. Otherwise it is like a feature.
  std::uint32_t label(std::string_view name, DType dtype, const Dims& dims) {
    return declare(BELAY_LABEL, name, dtype, dims);
  }
  // Declares that the values of an integer slot (int32, int64 or uint8) are in [0, classes), classes >= 1. Examples are
  // the size of a vocabulary and the number of classes. A model reads it as ModelContext::feature_classes or
  // label_classes. The host does not check the values.
  void set_classes(std::uint32_t slot, std::int64_t classes) {
    detail::Status status;
    status.check(api_->set_classes(self_, slot, classes, status));
  }
  // Names these values: names[i] is value i. With them a prediction names its class, and a language model writes
  // characters: its names are those of the vocabulary. The names are copied. All differ, and they are UTF-8 or single
  // bytes. It implies set_classes(names.size()). INVALID_ARGUMENT: another number of classes was set.
  void set_class_names(std::uint32_t slot, const std::vector<std::string>& names) {
    const std::vector<belay_str> raw = raw_names(names);
    detail::Status status;
    status.check(api_->set_class_names(self_, slot, raw.data(), raw.size(), status));
  }
  // Names the elements of the slot's last dimension, in order. All names differ; their number is that dimension's size.
  void set_columns(std::uint32_t slot, const std::vector<std::string>& names) {
    const std::vector<belay_str> raw = raw_names(names);
    detail::Status status;
    status.check(api_->set_columns(self_, slot, raw.data(), raw.size(), status));
  }
  // Keeps values or words that this input fitted on the examples of the training. A name belongs to an option if it is
  // the option's name, or begins with it and a dot ("standardize.mean"): see Option::learned() in belay/options.h.
  // Words under a name with ".dtype" at its end ("scale.dtype") name the dtype of the option's value. The host compares
  // them if an input inherits the value.
  void keep(std::string_view name, const std::vector<double>& values) {
    detail::Status status;
    status.check(api_->keep_values(self_, detail::str(name), values.data(), values.size(), status));
  }
  void keep(std::string_view name, const std::vector<std::string>& words) {
    const std::vector<belay_str> raw = raw_names(words);
    detail::Status status;
    status.check(api_->keep_words(self_, detail::str(name), raw.data(), raw.size(), status));
  }

  // The purpose of this input's batches. It is kTraining if the host does not know it.
  InputUse use() const { return purpose().first; }
  // True if this input must match a training's schema. False in the first start of a training.
  bool has_learned() const { return purpose().second; }
  // Return data that the training's input declared or kept under a name. Empty: the name or the schema is unknown. A
  // feature or label has the name that the training's input gave it.
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
  // Returns use and has_learned. A host without this slot knows no schema.
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

// The batch that next fills; every slot must get its tensor. It is valid for the call of next.
class Batch {
 public:
  Batch(const belay_input_service* api, belay_batch* self) noexcept : api_(api), self_(self) {}
  // Returns memory for the slot's tensor, 64-byte aligned, not zeroed (strings: empty). dims are all known and match
  // the declared ones. dims[0] is the number of examples, the same for all slots. Valid until next returns.
  TensorView tensor(std::uint32_t slot, const Dims& dims) {
    belay_tensor t{};
    detail::Status status;
    status.check(api_->tensor(self_, slot, static_cast<std::int32_t>(dims.size()), dims.data(), &t, status));
    return TensorView(t);
  }
  // Sets element `element` (row-major) of a string tensor to a copy of `bytes`. Call tensor() for the slot first.
  void set_string(std::uint32_t slot, std::uint64_t element, std::string_view bytes) {
    detail::Status status;
    status.check(api_->set_string(self_, slot, element, detail::str(bytes), status));
  }

 private:
  const belay_input_service* api_;
  belay_batch* self_;
};

// The arguments of open. A resumed run gets the same, if the manifest is the same.
struct OpenArgs {
  std::int64_t shard = 0;   // the share of this replica, 0 <= shard < shards
  std::int64_t shards = 1;  // the number of shares
  std::uint64_t seed = 0;   // key for shuffling and augmentation
};

// The base of plugins of the kind "input"; [input] of a manifest names them. An exception ends the run. After ABORTED
// and UNAVAILABLE the session is made again, and seek comes.
class Input : public Plugin {
 public:
  // Declares features and labels, at least one of them. It may read files to learn their shapes. [main]
  virtual void spec(InputSpec& spec) = 0;
  // Opens the files. It fails if a file is missing or there is nothing to read. [main]
  virtual void open(const OpenArgs& args) = 0;
  // Fills one batch and sets `position` to the beginning of the next batch. Returns false at the end, also when it is
  // called again. It may wait; then it should override interrupt or ask host().stopping(). After an exception the
  // position is unchanged. [input]
  virtual bool next(Batch& batch, Position& position) = 0;
  // Makes the next batch begin at `position`, which an earlier next returned. It also works after the end, for another
  // pass. INVALID_ARGUMENT: an impossible position. [main] or [input]
  virtual void seek(const Position& position) = 0;
  // Makes a next that waits (for a network, a pipe) return soon, because the run stops. next then throws
  // Error(Code::kCancelled, ...) or returns false. The call comes from another thread, also if no next is in progress,
  // and must not wait. Its effect may last until the next seek: the input is not used before it. Only inputs that may
  // wait long override it. [any]
  virtual void interrupt() {}
  // Number of examples in one epoch of this shard, after open; -1: not known. The run's plan shows it. [main]
  virtual std::int64_t size() const { return -1; }
};

}  // namespace v0
}  // namespace belay
