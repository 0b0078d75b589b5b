// SPDX-License-Identifier: Apache-2.0
// Heads: the last part of a model, from its last layer to loss, predictions and metrics. Also its first part: the
// features as one matrix.
//
//   class Linear final : public belay::Model {
//    public:
//     struct Options {
//       belay::Str task = "auto";
//       std::int64_t classes = 10;
//     };
//     ...
//     void build(belay::ModelContext& model) override {
//       const belay::Output x = belay::feature_matrix(model);                        [examples, columns]
//       const std::int64_t units = belay::head_units(model, options_.task, options_.classes);
//       belay::add_head(model, belay::ops::dense(x, units), options_.task);
//     }
//   };
//
// Call all functions in Model::build. [main] INVALID_ARGUMENT, with the feature and an option that helps: the input
// does not match.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "belay/model.h"
#include "belay/ops/activations.h"
#include "belay/ops/losses.h"
#include "belay/ops/math.h"
#include "belay/ops/metrics.h"
#include "belay/ops/reductions.h"
#include "belay/ops/shape.h"
#include "belay/ops/variables.h"

namespace belay {
inline namespace v0 {

// True if a feature has one id of known range for each example, such as a category of a table.
inline bool is_category(const NamedOutput& f) {
  const bool whole = f.output.dtype() == DType::kInt32 || f.output.dtype() == DType::kInt64;
  return whole && f.classes > 0 && f.output.rank() == 1;
}

// Returns the features that are categories.
inline std::vector<NamedOutput> categories_of(const ModelContext& model) {
  std::vector<NamedOutput> found;
  for (const NamedOutput& f : model.features())
    if (is_category(f)) found.push_back(f);
  return found;
}

namespace detail {

// Returns a feature as float32 [examples, columns].
inline Output columns_of(const NamedOutput& f) {
  if (f.output.dtype() == DType::kString)
    fail(Code::kInvalidArgument, "feature '" + f.name + "' is of type string; this model takes numbers");
  Output x = f.output.dtype() == DType::kFloat32 ? f.output : ops::cast(f.output, DType::kFloat32);
  if (x.rank() == 1) x = ops::expand_dims(x, 1);
  if (x.rank() > 2) x = ops::flatten(x);
  if (x.rank() != 2 || x.dim(1) < 0)
    fail(Code::kInvalidArgument, "feature '" + f.name + "' " + f.output.text() + " has no fixed size per example");
  return x;
}

}  // namespace detail

// Returns all features as float32 [examples, columns], in the input's order, each flattened. Features are numbers of
// any dtype or bool; [examples] becomes one column. A category becomes one column for each of its ids, with a 1 at the
// place of the id. INVALID_ARGUMENT: a feature has strings or an unknown size per example, or there is no feature.
inline Output feature_matrix(const ModelContext& model) {
  std::vector<Output> parts;
  for (const NamedOutput& f : model.features())
    parts.push_back(is_category(f) ? ops::one_hot(f.output, f.classes) : detail::columns_of(f));
  if (parts.empty()) fail(Code::kInvalidArgument, "the input has no features");
  return parts.size() == 1 ? parts[0] : ops::concat(parts, 1, "features");
}

// Returns the features that are no categories, as feature_matrix does; empty: all are categories.
inline Output number_matrix(const ModelContext& model) {
  std::vector<Output> parts;
  for (const NamedOutput& f : model.features())
    if (!is_category(f)) parts.push_back(detail::columns_of(f));
  if (model.features().empty()) fail(Code::kInvalidArgument, "the input has no features");
  if (parts.empty()) return {};
  return parts.size() == 1 ? parts[0] : ops::concat(parts, 1, "features");
}

// Returns the input's one feature as float32 images [examples, height, width, channels]. `image` is the shape of one
// example: height, width and, unless it is 1, channels. Empty: the feature's dimensions.
//
//   feature [examples, 784], image {28, 28}         [examples, 28, 28, 1]
//   feature [examples, 32, 32, 3], image {}         [examples, 32, 32, 3]
//
// The values are cast, not scaled: divide uint8 pixels by 255 in the model.
inline Output image_feature(const ModelContext& model, const Dims& image) {
  const Output raw = model.feature();
  if (raw.dtype() == DType::kString)
    fail(Code::kInvalidArgument, "the feature " + raw.text() + " holds strings, not an image");
  const Output x = raw.dtype() == DType::kFloat32 ? raw : ops::cast(raw, DType::kFloat32);
  Dims dims = image;
  if (dims.empty() && x.rank() > 1) {
    const Dims all = x.dims();
    dims.assign(all.begin() + 1, all.end());
  }
  if (dims.size() == 2) dims.push_back(1);
  std::int64_t elements = 1, given = 1;
  for (const std::int64_t d : dims) elements = d < 0 || elements < 0 ? -1 : elements * d;
  for (std::int32_t i = 1; i < x.rank(); ++i) given = x.dim(i) < 0 || given < 0 ? -1 : given * x.dim(i);
  if (dims.size() != 3 || elements < 1)
    fail(Code::kInvalidArgument, "the feature " + raw.text() +
                                     " is no image of known size; set image = [height, width] or [height, width, "
                                     "channels]");
  if (given >= 0 && given != elements)
    fail(Code::kInvalidArgument, "image = " + dims_text(image) + " has " + std::to_string(elements) +
                                     " elements, an example of the feature " + raw.text() + " has " +
                                     std::to_string(given));
  return ops::reshape(x, {x.dim(0), dims[0], dims[1], dims[2]}, "image");
}

// The only feature as ids of a language model, the result of sequence_feature.
struct Sequences {
  Output ids;  // int32 or int64 [batch, time]
  // Number of different ids; they are in [0, vocabulary).
  std::int64_t vocabulary;
  // Ids per example; known, unlike the batch.
  std::int64_t time;
};
// Returns the only feature as sequences of ids. `vocabulary`: the number of ids; 0: the number that the input declares
// (InputSpec::set_classes). With a smaller number the run ends at the first id outside the table.
//
//   const belay::Sequences s = belay::sequence_feature(model, options_.vocabulary);
//   const belay::Output x = ops::embedding(s.ids, s.vocabulary, 64);                  [batch, time, 64]
//   const belay::Output h = ops::lstm(x, 128).y;                                      [batch, time, 128]
//   belay::add_head(model, ops::dense_last(h, s.vocabulary), "classification");       labels [batch, time]
inline Sequences sequence_feature(const ModelContext& model, std::int64_t vocabulary) {
  const Output ids = model.feature();
  if (vocabulary == 0) vocabulary = model.feature_classes();
  if (ids.rank() != 2 || ids.dim(1) < 1 || (ids.dtype() != DType::kInt32 && ids.dtype() != DType::kInt64))
    fail(Code::kInvalidArgument,
         "the feature " + ids.text() + " must be ids, int32 or int64 [batch, time] with a known time");
  if (vocabulary < 1)
    fail(Code::kInvalidArgument,
         "the input does not declare how many ids there are for " + ids.text() + "; set vocabulary to their number");
  return {ids, vocabulary, ids.dim(1)};
}

// Returns `task` unless it is "auto". Then it is "regression" for a floating-point label, else "classification".
// add_head casts uint8 and bool to int32; the loss refuses a string label. It uses the input's declaration, so it is
// the same in every mode. INVALID_ARGUMENT: `task` is "auto" and the input declares no label.
inline std::string head_task(const ModelContext& model, std::string_view task) {
  if (task != "auto") return std::string(task);
  if (model.declared_labels().empty())
    fail(Code::kInvalidArgument,
         "the input declares no label, so the model cannot tell its task: set task to classification or regression");
  const DType t = model.declared_label().dtype;
  return t == DType::kFloat32 || t == DType::kFloat64 ? "regression" : "classification";
}

// Returns the number of classes of a classification: `classes` if it is set, else the number that the input declares
// for the label, else kClassesUnlessSaid. INVALID_ARGUMENT: the input declares another number than `classes`, or there
// is only one class.
inline constexpr std::int64_t kClassesUnlessSaid = 10;
inline std::int64_t head_classes(const ModelContext& model, std::int64_t classes) {
  const std::int64_t declared = model.declared_labels().size() == 1 ? model.declared_label().classes : 0;
  if (classes != 0 && declared != 0 && classes != declared)
    fail(Code::kInvalidArgument, "classes: the model has " + std::to_string(classes) + ", and the input's label has " +
                                     std::to_string(declared) + "; leave 'classes' out to take the input's");
  const std::int64_t n = classes != 0 ? classes : declared != 0 ? declared : kClassesUnlessSaid;
  if (n < 2)
    fail(Code::kInvalidArgument, "classes: a classification needs at least 2, and " +
                                     std::string(classes != 0 ? "the option has " : "the input has ") +
                                     std::to_string(n));
  return n;
}

// Returns the number of outputs of the last layer. For a classification it is head_classes(model, classes). For a
// regression it is the label's numbers per example (3 for a label [examples, 3], else 1). `task` is as in head_task. It
// is the same in every mode, so a checkpoint matches.
inline std::int64_t head_units(const ModelContext& model, std::string_view task, std::int64_t classes) {
  if (head_task(model, task) == "classification") return head_classes(model, classes);
  if (model.declared_labels().empty()) return 1;
  const Dims& label = model.declared_label().dims;
  return label.size() == 2 && label[1] > 0 ? label[1] : 1;
}

// The two parts of add_head, one for each task.
namespace detail {

// Refuses labels with several integers per row of logits. Rows of 0 and 1, or several classes at once, are numbers to
// this head.
inline void need_one_class(const Output& logits, const Output& label) {
  const bool is_integer = label.dtype() == DType::kInt32 || label.dtype() == DType::kInt64;
  if (!is_integer || logits.rank() < 0 || label.rank() != logits.rank()) return;
  fail(
      Code::kInvalidArgument,
      "the label " + label.text() + " has " +
          (label.dim(label.rank() - 1) < 0 ? "several" : std::to_string(label.dim(label.rank() - 1))) +
          " integers where a classification takes one class; give the number of the class alone (of rows with a single "
          "1 its column), or set task = \"regression\" to fit the numbers themselves");
}

// logits [examples, classes] or [batch, time, classes]; labels integers or bool without the last dimension.
inline void classification_head(ModelContext& model, const Output& logits) {
  model.prediction("probabilities", ops::softmax(logits, "probabilities"));
  const Output chosen = ops::arg_max(logits, -1, "class");
  model.prediction("class", chosen);
  if (model.labels().empty()) return;
  const DType dtype = model.label().dtype();
  const bool narrow = dtype == DType::kUInt8 || dtype == DType::kBool;
  const Output label = narrow ? ops::cast(model.label(), DType::kInt32) : model.label();
  need_one_class(logits, label);
  model.loss(ops::softmax_cross_entropy(logits, label, "loss"));
  if (model.mode() == Mode::kEval) {
    const ops::Metric accuracy = ops::metrics::accuracy(label, chosen, {}, "accuracy");
    model.metric("accuracy", accuracy.value, accuracy.update);
  } else {
    model.metric("accuracy", ops::accuracy(logits, label, "accuracy"));
  }
}

// Refuses a label whose classes have words, such as "no" and "0.5". The number of a class is none of the data.
inline void need_numbers(const DeclaredLabel& label) {
  for (std::size_t i = 0; i < label.class_names.size(); ++i)
    if (label.class_names[i] != std::to_string(i))
      fail(Code::kInvalidArgument,
           "the label " + label.text() + " has classes, such as \"" + label.class_names[i] +
               "\", and a regression predicts numbers; choose a classification, or label_type = \"float\" in csv");
}

// y [examples, numbers]; a label [examples] becomes [examples, 1], and dtypes other than float32 are cast.
inline void regression_head(ModelContext& model, const Output& y) {
  model.prediction("value", y);
  if (model.labels().empty()) return;
  if (model.training()) need_numbers(model.declared_label());
  const Output label = model.label();
  Output target = label.dtype() == DType::kFloat32 ? label : ops::cast(label, DType::kFloat32);
  if (target.rank() == 1) target = ops::expand_dims(target, 1);
  model.loss(ops::mean_squared_error(y, target, "loss"));
  if (model.mode() == Mode::kEval) {
    const ops::Metric error = ops::metrics::mean_absolute_error(target, y, {}, "mean_absolute_error");
    model.metric("mean_absolute_error", error.value, error.update);
    const ops::Metric r2 = ops::metrics::r2(target, y, {}, "r2");
    model.metric("r2", r2.value, r2.update);
  } else {
    model.metric("mean_absolute_error", ops::reduce_mean(ops::abs(y - target), {}, false, "mean_absolute_error"));
  }
}

}  // namespace detail

// Adds loss, predictions and metrics for the last layer's output [examples, units]. It may be [batch, time, classes] if
// the label is [batch, time]; then the loss is the mean over all of them.
//
//   classification   softmax cross entropy; predictions "probabilities" (softmax of `last`) and "class" (int64);
//                    metric "accuracy"
//   regression       mean squared error; prediction "value"; metrics "mean_absolute_error" and, evaluating, "r2"
//
// In mode kEval the metrics add up over the whole pass in float64: 238 of 300 right is 238 / 300, for batches of any
// size. In mode kTrain they are those of the batch.
//
// In mode kPredict it adds the predictions alone. `task` is as in head_task. `last` has no activation: it is the
// logits, or the value itself. The model may add predictions and metrics of other names before or after.
inline void add_head(ModelContext& model, const Output& last, std::string_view task) {
  if (head_task(model, task) == "classification") {
    detail::classification_head(model, last);
  } else {
    detail::regression_head(model, last);
  }
}

}  // namespace v0
}  // namespace belay
