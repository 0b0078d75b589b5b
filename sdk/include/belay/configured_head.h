// SPDX-License-Identifier: Apache-2.0
// A head with options of a manifest: the loss, the weights of classes and examples, the scale of the label and the
// threshold of a class. The models linear, mlp and tabular end in it.
//
//   struct Options : belay::HeadOptions { ... };
//   static constexpr auto about = belay::about(..., belay::head_options<Options>());
//   ...
//   const belay::ConfiguredHead head(model, options_);               // in Model::build
//   head.add(model, belay::ops::dense(x, head.units()));
//
//   loss             label                           units     predictions                metrics of an evaluation
//   cross_entropy    a class                         classes   probabilities, class       accuracy
//   binary           a class of two                  1         probabilities, class       accuracy
//   multi_label      0 or 1 for each of k labels     k         probabilities, classes     accuracy
//   squared,         numbers                         numbers   value                      mean_absolute_error, r2
//   absolute, huber
//
// binary is cross_entropy with the logit of the first class fixed at 0. `auto` is cross_entropy for a label of integers
// and squared for one of floating-point numbers. HeadMetrics::kAll adds what a table wants to know.
//
// If the input has two labels and one is called "weight", that one holds the weight of each example. The loss is the
// mean over the examples of weight times loss, so weights scale the steps too. Metrics are weighted means, those of the
// training's batches too. Weights of classes and label_smoothing act on the training's loss alone. So an evaluation's
// loss stays comparable.
#pragma once

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "belay/heads.h"
#include "belay/nearest.h"
#include "belay/ops/embedding.h"
#include "belay/ops/matmul.h"
#include "belay/options.h"

namespace belay {
inline namespace v0 {

// The members of these options. A model's Options derive from it, and its `about` has head_options.
struct HeadOptions {
  Str loss = "auto";
  double label_smoothing = 0;
  double delta = 1;
  Table class_weights;
  Str label_scale = "none";
  std::optional<double> threshold;
  Str tune_threshold = "none";
  Str positive_class;
};

// The declarations of HeadOptions, for the `about` of a model whose Options O derive from it.
template <class O>
constexpr auto head_options() {
  constexpr Str O::*loss = &O::loss, O::*scale = &O::label_scale, O::*tune = &O::tune_threshold,
                O::*positive = &O::positive_class;
  constexpr double O::*smoothing = &O::label_smoothing, O::*delta = &O::delta;
  constexpr Table O::*weights = &O::class_weights;
  constexpr std::optional<double> O::*threshold = &O::threshold;
  return std::make_tuple(
      option("loss", loss, "loss to minimize; auto: cross_entropy if the label is a class, else squared")
          .choices("auto", "cross_entropy", "binary", "multi_label", "squared", "absolute", "huber"),
      option("label_smoothing", smoothing, "share of each training label that is spread evenly over all classes")
          .range(0, 0.999),
      option("delta", delta, "error from which the loss huber is linear, in the unit of the scaled label").min(1e-9),
      option("class_weights", weights,
             "\"balanced\", or a table of CLASS = weight; factors of the training loss, 1 for other classes")
          .or_list(),
      option("label_scale", scale,
             "scale of the numbers that the model learns; predictions and metrics have the label's unit; standard: "
             "(y - mean) / deviation; log: the same of sign(y) ln(1 + |y|)")
          .choices("none", "standard", "log"),
      option("threshold", threshold,
             "probability above which an example has the positive class; not set: the more probable class")
          .range(0, 1),
      option("tune_threshold", tune, "f1: each evaluation sets the threshold to that of its best F1")
          .choices("none", "f1"),
      option("positive_class", positive,
             "name or number of the class that threshold, F1 and AUC are about; \"\" means the second one"));
}

// The metrics that an evaluation adds. kAll: with classes balanced_accuracy, f1, log_loss and a confusion_matrix; with
// two of them also auc and auc_precision_recall; with numbers root_mean_squared_error.
enum class HeadMetrics { kFew, kAll };

// Returns numbers * kernel plus a row of weights for each category's id: [examples, units], without a bias. Either of
// numbers (number_matrix) and categories may be empty. In the current scope the variables are "kernel" and
// "<category>/table". They begin at 0: the loss of a linear model has one minimum, so any start will do.
inline Output linear_part(const Graph& g, const Output& numbers, const std::vector<NamedOutput>& categories,
                          std::int64_t units) {
  std::vector<Output> parts;
  if (numbers)
    parts.push_back(ops::matmul(numbers, ops::variable(g, "kernel", ops::zeros(g, {numbers.dim(1), units}))));
  for (const NamedOutput& c : categories) {
    ops::EmbeddingOptions table;
    table.name = c.name;
    table.initializer = [](const Graph& graph, const Dims& dims, DType dtype) {
      return ops::zeros(graph, dims, dtype);
    };
    parts.push_back(ops::embedding(c.output, c.classes, units, table));
  }
  return parts.size() == 1 ? parts[0] : ops::add_n(parts);
}

class ConfiguredHead {
 public:
  // The most classes for which there is a confusion matrix.
  static constexpr std::int64_t kMatrixClasses = 128;
  // Probabilities between two thresholds count as equal. Those of the F1 are even, those of AUCs are even in the logit.
  static constexpr std::int64_t kThresholds = 501;

  // `task` is as in head_task, and `classes` as in head_classes. INVALID_ARGUMENT: options, task and label contradict
  // each other.
  ConfiguredHead(const ModelContext& model, const HeadOptions& options, std::string_view task = "auto",
                 std::int64_t classes = 0)
      : o_(options), label_(label_of(model)) {
    loss_ = o_.loss.string();
    if (loss_ == "auto") loss_ = task_of(task) == "classification" ? "cross_entropy" : "squared";
    const bool numbers = loss_ == "squared" || loss_ == "absolute" || loss_ == "huber";
    if (task != "auto" && o_.loss != "auto" && numbers != (task == "regression"))
      refuse("task is \"" + std::string(task) + "\", and loss \"" + loss_ + "\" is for a " +
             (numbers ? "regression" : "classification") + "; leave 'task' out");
    kind_ = numbers ? Kind::kNumbers : loss_ == "multi_label" ? Kind::kMultiLabel : Kind::kClasses;
    n_ = kind_ == Kind::kClasses ? classes_of(classes) : numbers_of_label();
    check(model.training());
  }

  // Returns the units of the model's last layer.
  std::int64_t units() const { return loss_ == "binary" ? 1 : n_; }

  // Adds loss, predictions and metrics for the last layer's output [examples, units], without an activation.
  void add(ModelContext& model, const Output& last, HeadMetrics metrics = HeadMetrics::kFew) const {
    if (kind_ == Kind::kClasses) return add_classes(model, last, metrics);
    if (kind_ == Kind::kMultiLabel) return add_multi_label(model, last, metrics);
    add_numbers(model, last, metrics);
  }

  // Returns the weight of each class, such as { 0.6, 3 }; empty: all are 1.
  std::vector<double> class_weights() const {
    if (o_.class_weights.empty()) return {};
    return o_.class_weights.key(0) == "[0]" ? balanced_weights() : weights_by_name();
  }

 private:
  enum class Kind { kClasses, kMultiLabel, kNumbers };

  [[noreturn]] static void refuse(const std::string& what) { fail(Code::kInvalidArgument, what); }

  // The label that is predicted. None: the input declares no label.
  static DeclaredLabel label_of(const ModelContext& model) {
    const std::vector<DeclaredLabel>& all = model.declared_labels();
    if (all.empty()) return {};
    if (all.size() == 2 && all[0].name == "weight") return all[1];
    if (all.size() == 2 && all[1].name == "weight") return all[0];
    return model.declared_label();
  }
  // The weight of each example, float32 [examples]; empty: the input has none.
  static Output weights_of(const ModelContext& model) {
    if (model.labels().size() != 2) return {};
    const Output weight = model.label("weight");
    return weight.dtype() == DType::kFloat32 ? weight : ops::cast(weight, DType::kFloat32);
  }

  std::string task_of(std::string_view task) const {
    if (task != "auto") return std::string(task);
    if (label_.dtype == DType::kInvalid)
      refuse(
          "the input declares no label, so the model cannot tell its task: set task to classification or regression");
    return is_number() ? "regression" : "classification";
  }
  bool is_number() const { return label_.dtype == DType::kFloat32 || label_.dtype == DType::kFloat64; }

  std::int64_t classes_of(std::int64_t classes) const {
    if (is_number())
      refuse("loss: \"" + loss_ + "\" takes a class, and the label " + label_.text() +
             " is a number; in csv leave label_type out, or choose the loss squared, absolute, huber or multi_label");
    if (classes != 0 && label_.classes != 0 && classes != label_.classes)
      refuse("classes: the model has " + std::to_string(classes) + ", and the input's label has " +
             std::to_string(label_.classes) + "; leave 'classes' out to take the input's");
    const std::int64_t unless_said = loss_ == "binary" ? 2 : kClassesUnlessSaid;
    const std::int64_t n = classes != 0 ? classes : label_.classes != 0 ? label_.classes : unless_said;
    if (n < 2)
      refuse("classes: a classification needs at least 2, and " +
             std::string(classes != 0 ? "the option has " : "the input has ") + std::to_string(n));
    if (loss_ == "binary" && n != 2)
      refuse("loss: \"binary\" is for 2 classes, and the label has " + std::to_string(n) + "; choose cross_entropy");
    return n;
  }
  std::int64_t numbers_of_label() const { return label_.dims.size() == 2 && label_.dims[1] > 0 ? label_.dims[1] : 1; }

  // Refuses options that have no meaning for the loss.
  void check(bool training) const {
    const auto only = [&](bool given, bool fits, const std::string& option, const std::string& what) {
      if (given && !fits) refuse("'" + option + "' is for " + what + ", and the loss is " + loss_);
    };
    const bool numbers = kind_ == Kind::kNumbers, two = kind_ == Kind::kClasses && n_ == 2;
    only(o_.label_smoothing > 0, !numbers, "label_smoothing", "classes");
    only(!o_.class_weights.empty(), kind_ == Kind::kClasses, "class_weights", "cross_entropy and binary");
    only(o_.label_scale != "none", numbers, "label_scale", "squared, absolute and huber");
    only(!o_.positive_class.empty(), two, "positive_class", "two classes");
    only(o_.threshold.has_value(), two || kind_ == Kind::kMultiLabel, "threshold", "two classes and for multi_label");
    only(o_.tune_threshold != "none", two, "tune_threshold", "two classes");
    if (o_.label_scale == "standard" && !(label_.deviation > 0))
      refuse("label_scale: \"standard\" needs mean and deviation of the label " + label_.text() +
             ", which the input did not keep; csv keeps them, and \"log\" needs none");
    if (training && numbers) detail::need_numbers(label_);
    if (training) class_weights();
    if (two) positive();
  }

  // Returns the number of a class by its name or number.
  std::int64_t class_number(const std::string& option, std::string_view name) const {
    std::vector<std::string> names = label_.class_names;
    for (auto i = static_cast<std::int64_t>(names.size()); i < n_; ++i) names.push_back(std::to_string(i));
    for (std::size_t i = 0; i < names.size(); ++i)
      if (names[i] == name) return static_cast<std::int64_t>(i);
    constexpr std::size_t kShown = 10;
    std::string all;
    for (std::size_t i = 0; i < names.size() && i < kShown; ++i) all += (i == 0 ? "\"" : ", \"") + names[i] + "\"";
    refuse(option + ": the label has no class \"" + std::string(name) + "\"" + did_you_mean(name, names) +
           "; it has: " + all + (names.size() > kShown ? ", ..." : ""));
  }
  std::int64_t positive() const {
    return o_.positive_class.empty() ? 1 : class_number("positive_class", o_.positive_class);
  }

  // examples / (classes * examples of the class), over the classes that occur, as in scikit-learn.
  std::vector<double> balanced_weights() const {
    if (o_.class_weights.size() != 1 || o_.class_weights.text(0) != "balanced")
      refuse("class_weights is \"" + std::string(o_.class_weights.text(0)) +
             "\", must be \"balanced\" or a table such as { yes = 3.0 }");
    const std::vector<double>& counts = label_.class_counts;
    double examples = 0, classes = 0;
    for (const double count : counts) examples += count, classes += count > 0 ? 1 : 0;
    if (examples == 0)
      refuse("class_weights: \"balanced\" needs the number of examples of each class of the label " + label_.text() +
             ", which the input did not keep; csv keeps it, and a table of weights needs none");
    std::vector<double> weights;
    for (const double count : counts) weights.push_back(count > 0 ? examples / (classes * count) : 1);
    return weights;
  }
  std::vector<double> weights_by_name() const {
    std::vector<double> weights(static_cast<std::size_t>(n_), 1.0);
    for (std::size_t i = 0; i < o_.class_weights.size(); ++i) {
      const std::int64_t number = class_number("class_weights", o_.class_weights.key(i));
      const double weight = o_.class_weights.number(i);
      if (!(weight >= 0 && weight < std::numeric_limits<float>::max()))
        refuse("class_weights." + std::string(o_.class_weights.key(i)) + " must be a number from 0");
      weights[static_cast<std::size_t>(number)] = weight;
    }
    if (std::count(weights.begin(), weights.end(), 0.0) == n_)
      refuse("class_weights: each class has the weight 0, so nothing would be trained");
    return weights;
  }

  // ---- classes

  void add_classes(ModelContext& model, const Output& last, HeadMetrics metrics) const {
    const Output logits = loss_ == "binary" ? ops::concat({last * 0.0, last}, 1, "logits_of_both") : last;
    const Output probabilities = ops::softmax(logits, "probabilities");
    const Output threshold = threshold_of(model);
    const Output chosen =
        n_ == 2 && threshold ? by_threshold(probabilities, threshold) : ops::arg_max(logits, -1, "class");
    model.prediction("probabilities", probabilities);
    model.prediction("class", chosen);
    if (model.labels().empty()) return;
    const Output given = model.label(label_.name);
    const bool narrow = given.dtype() == DType::kUInt8 || given.dtype() == DType::kBool;
    const Output label = narrow ? ops::cast(given, DType::kInt32) : given;
    detail::need_one_class(logits, label);
    const Output weights = weights_of(model);
    model.loss(loss_of_classes(model, logits, label, weights));
    if (model.mode() != Mode::kEval) {
      model.metric("accuracy", mean_of_batch(right(chosen, label), weights, "accuracy"));
      if (o_.tune_threshold != "none")
        model.hook(
            {"assign_metric", {{"tensor", "eval/best_threshold"}, {"variable", "threshold"}}, "threshold", true});
      return;
    }
    add(model, "accuracy", ops::metrics::accuracy(label, chosen, weights, "accuracy"));
    if (n_ == 2 && o_.tune_threshold != "none") add_best_f1(model, probabilities, label, weights);
    if (metrics == HeadMetrics::kAll) add_all_of_classes(model, logits, probabilities, chosen, label, weights);
  }

  Output loss_of_classes(const ModelContext& model, const Output& logits, const Output& label,
                         const Output& weights) const {
    const std::vector<double> of_classes = model.training() ? class_weights() : std::vector<double>();
    const double smoothing = model.training() ? o_.label_smoothing : 0;
    if (of_classes.empty() && smoothing == 0 && !weights) return ops::softmax_cross_entropy(logits, label, "loss");
    const Graph g = logits.graph();
    const auto scope = g.scope("loss");
    Output rows = ops::sparse_softmax_cross_entropy_with_logits(logits, label);
    if (smoothing > 0) rows = rows * (1 - smoothing) - ops::reduce_mean(ops::log_softmax(logits), {1}) * smoothing;
    if (!of_classes.empty()) {
      const std::vector<float> values(of_classes.begin(), of_classes.end());
      rows = rows * ops::gather(ops::constant(g, Tensor({n_}, values), "class_weights"), label);
    }
    return ops::reduce_mean(weights ? rows * weights : rows, {}, false, "value");
  }

  // The threshold of two classes; empty: the more probable class is chosen. A tuned one is a variable that is saved and
  // not trained.
  Output threshold_of(const ModelContext& model) const {
    const auto value = static_cast<float>(o_.threshold.value_or(0.5));
    if (kind_ == Kind::kClasses && o_.tune_threshold != "none")
      return ops::variable(model.graph(), "threshold", Tensor(value), ops::VariableKind::kGlobal);
    if (!o_.threshold) return {};
    return ops::scalar(model.graph(), o_.threshold.value_or(0.5), DType::kFloat32);
  }
  Output positive_column(const Output& probabilities) const {
    return ops::squeeze(ops::slice(probabilities, {0, positive()}, {-1, 1}), {1});
  }
  Output by_threshold(const Output& probabilities, const Output& threshold) const {
    const Output is_positive = ops::greater(positive_column(probabilities), threshold);
    if (positive() == 1) return ops::cast(is_positive, DType::kInt64, "class");
    return ops::cast(ops::logical_not(is_positive), DType::kInt64, "class");
  }

  // AUCs have thresholds that tell the probabilities of rare classes apart.
  static ops::Metric area(const Output& truth, const Output& probability, const Output& weights,
                          ops::metrics::Curve curve, const char* name) {
    return ops::metrics::auc(truth, probability, weights, kThresholds, curve, name,
                             ops::metrics::Thresholds::kEvenLogits);
  }

  void add_best_f1(ModelContext& model, const Output& probabilities, const Output& label, const Output& weights) const {
    const ops::metrics::BestF1 best =
        ops::metrics::best_f1(is_positive(label), positive_column(probabilities), weights, kThresholds, "best_f1");
    add(model, "best_threshold", best.threshold);
    // One update counts the batch for both.
    model.metric("best_f1", best.f1.value, best.threshold.update);
  }
  Output is_positive(const Output& label) const {
    return ops::equal(label, ops::scalar(label.graph(), static_cast<double>(positive()), label.dtype()));
  }

  void add_all_of_classes(ModelContext& model, const Output& logits, const Output& probabilities, const Output& chosen,
                          const Output& label, const Output& weights) const {
    add(model, "log_loss",
        ops::metrics::mean(ops::sparse_softmax_cross_entropy_with_logits(logits, label), weights, "log_loss"));
    if (n_ == 2) {
      const Output truth = is_positive(label), p = positive_column(probabilities);
      add(model, "auc", area(truth, p, weights, ops::metrics::Curve::kRoc, "auc"));
      add(model, "auc_precision_recall",
          area(truth, p, weights, ops::metrics::Curve::kPrecisionRecall, "auc_precision_recall"));
    }
    if (n_ > kMatrixClasses) return;
    const ops::Metric matrix = ops::metrics::confusion_matrix(label, chosen, n_, weights, "confusion_matrix");
    const ops::Metric f1 = ops::metrics::f1_of_classes(matrix, n_ == 2 ? positive() : -1, "f1");
    const ops::Metric recall = ops::metrics::recall_of_classes(matrix, "balanced_accuracy");
    model.metric("balanced_accuracy", recall.value, matrix.update);
    model.metric("f1", f1.value, matrix.update);
    model.metric("confusion_matrix", matrix.value, matrix.update);
  }

  static void add(ModelContext& model, const char* name, const ops::Metric& metric) {
    model.metric(name, metric.value, metric.update);
  }

  // ---- metrics of a batch of the training

  // 1 for each prediction that is the label's class.
  static Output right(const Output& chosen, const Output& label) {
    return ops::cast(ops::metrics::detail::same({label, chosen}), DType::kFloat32);
  }
  // The mean over all elements, weighted as that of an evaluation. NaN: all weights of the batch are 0.
  static Output mean_of_batch(const Output& each, const Output& weights, const char* name) {
    if (!weights) return ops::reduce_mean(each, {}, false, name);
    const Graph g = each.graph();
    const auto scope = g.scope(name);
    const Output counts = ops::metrics::detail::counts_of(each, weights);
    const Output total = ops::reduce_sum(ops::metrics::detail::counted(each, counts));
    return ops::cast(ops::metrics::detail::ratio(total, ops::reduce_sum(counts)), DType::kFloat32, "value");
  }

  // ---- several labels

  void add_multi_label(ModelContext& model, const Output& logits, HeadMetrics metrics) const {
    const Output probabilities = ops::sigmoid(logits, "probabilities");
    const Output limit = ops::scalar(model.graph(), o_.threshold.value_or(0.5), DType::kFloat32);
    const Output chosen = ops::cast(ops::greater(probabilities, limit), DType::kInt64, "classes");
    model.prediction("probabilities", probabilities);
    model.prediction("classes", chosen);
    if (model.labels().empty()) return;
    const Output label = as_rows(model.label(label_.name)), weights = weights_of(model);
    const double smoothing = model.training() ? o_.label_smoothing : 0;
    const Output target = smoothing > 0 ? label * (1 - smoothing) + smoothing / 2 : label;
    const Output each = ops::sigmoid_cross_entropy_with_logits(logits, target);
    model.loss(mean_of_rows(each, weights));
    if (model.mode() != Mode::kEval) {
      model.metric("accuracy", mean_of_batch(right(chosen, label), weights, "accuracy"));
      return;
    }
    add(model, "accuracy", ops::metrics::accuracy(label, chosen, weights, "accuracy"));
    if (metrics == HeadMetrics::kFew) return;
    add(model, "log_loss", ops::metrics::mean(each, weights, "log_loss"));
    add(model, "precision", ops::metrics::precision(label, chosen, weights, "precision"));
    add(model, "recall", ops::metrics::recall(label, chosen, weights, "recall"));
    add(model, "auc", area(label, probabilities, weights, ops::metrics::Curve::kRoc, "auc"));
  }

  static Output as_rows(const Output& label) {
    const Output x = label.dtype() == DType::kFloat32 ? label : ops::cast(label, DType::kFloat32);
    return x.rank() == 1 ? ops::expand_dims(x, 1) : x;
  }
  // The mean over all elements of [examples, k], each times the weight of its example.
  static Output mean_of_rows(const Output& each, const Output& weights) {
    return ops::reduce_mean(weights ? each * ops::expand_dims(weights, 1) : each, {}, false, "loss");
  }

  // ---- numbers

  // The loss sees (y - mean) / deviation of the label or of its logarithm.
  Output scaled(const Output& y) const {
    if (o_.label_scale == "standard") return (y - label_.mean) * (1 / label_.deviation);
    if (o_.label_scale != "log") return y;
    const Output logarithm = ops::sign(y) * ops::log1p(ops::abs(y));
    return label_.log_deviation > 0 ? (logarithm - label_.log_mean) * (1 / label_.log_deviation) : logarithm;
  }
  Output unscaled(const Output& y) const {
    if (o_.label_scale == "standard") return y * label_.deviation + label_.mean;
    if (o_.label_scale != "log") return y;
    const Output logarithm = label_.log_deviation > 0 ? y * label_.log_deviation + label_.log_mean : y;
    return ops::sign(logarithm) * (ops::exp(ops::abs(logarithm)) - 1.0);
  }

  Output errors_of(const Output& y, const Output& target) const {
    if (loss_ == "squared") return ops::squared_difference(y, target);
    const Output distance = ops::abs(y - target);
    if (loss_ == "absolute") return distance;
    const Output inner = ops::minimum(distance, ops::scalar(y.graph(), o_.delta, DType::kFloat32));
    return ops::square(inner) * 0.5 + (distance - inner) * o_.delta;
  }

  void add_numbers(ModelContext& model, const Output& y, HeadMetrics metrics) const {
    const Output value = unscaled(y);
    model.prediction("value", value);
    if (model.labels().empty()) return;
    const Output label = as_rows(model.label(label_.name)), weights = weights_of(model);
    if (loss_ == "squared" && o_.label_scale == "none" && !weights)
      model.loss(ops::mean_squared_error(y, label, "loss"));
    else
      model.loss(mean_of_rows(errors_of(y, scaled(label)), weights));
    if (model.mode() != Mode::kEval) {
      model.metric("mean_absolute_error", mean_of_batch(ops::abs(value - label), weights, "mean_absolute_error"));
      return;
    }
    add(model, "mean_absolute_error", ops::metrics::mean_absolute_error(label, value, weights, "mean_absolute_error"));
    if (metrics == HeadMetrics::kAll)
      add(model, "root_mean_squared_error",
          ops::metrics::root_mean_squared_error(label, value, weights, "root_mean_squared_error"));
    add(model, "r2", ops::metrics::r2(label, value, weights, "r2"));
  }

  const HeadOptions o_;
  const DeclaredLabel label_;
  std::string loss_;
  Kind kind_ = Kind::kNumbers;
  std::int64_t n_ = 1;  // classes, or numbers of an example
};

}  // namespace v0
}  // namespace belay
