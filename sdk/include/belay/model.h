// SPDX-License-Identifier: Apache-2.0
// A Model builds a graph: from the features and labels of an input to a loss, predictions and metrics.
//
//   void build(belay::ModelContext& m) override {
//     const belay::Output y = ops::dense(m.feature("x"), 1);
//     m.prediction("y", y);
//     if (m.mode() == belay::Mode::kPredict) return;
//     m.loss(ops::mean_squared_error(m.label("y"), y));
//   }
//
// The host calls build once per graph; training and evaluation have separate graphs. It adds the train operation from
// [optimizer]. A model can set all parts of TensorFlow's EstimatorSpec. eval_metric_ops are metrics, export_outputs are
// signatures, and the scaffold's pieces are roles. The hooks of a mode are those that build adds in that mode. Threads:
// [main].
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "belay/graph.h"
#include "belay/option_value.h"

namespace belay {
inline namespace v0 {

// A tensor of the graph under a name that the input or a signature uses.
struct NamedOutput {
  std::string name;
  Output output;
  std::int64_t classes = 0;  // of a feature or label: its values are in [0, classes); 0: not known
};

// A label as the input declares it. It is known in every mode; the label's tensor exists only in training and
// evaluation.
struct DeclaredLabel {
  std::string name;
  DType dtype = DType::kInvalid;
  Dims dims;                 // dims[0] is the batch; -1: unknown
  std::int64_t classes = 0;  // as in NamedOutput
  // Facts that the training's input kept: see belay/label_facts.h. The same in every mode.
  std::vector<std::string> class_names = {};  // by class; empty: unknown
  std::vector<double> class_counts = {};      // examples of each class in the training; empty: unknown
  double mean = 0, deviation = 0;             // of the training's numbers y; deviation 0: unknown
  double log_mean = 0, log_deviation = 0;     // of sign(y) ln(1 + |y|)

  // The label for messages: "'digit' (int64 [?])".
  std::string text() const { return "'" + name + "' (" + dtype_name(dtype) + " " + dims_text(dims) + ")"; }
};

// A way to call the trained model when it is served, as in TensorFlow's SavedModel.
struct Signature {
  std::string name;                  // unique in the model; a client that names none gets "serving_default"
  std::string method;                // "predict", "classify" or "regress"
  std::vector<NamedOutput> inputs;   // tensors; their classes are not used
  std::vector<NamedOutput> outputs;  // tensors
};

// A hook that comes with the model. Its name is looked up among the hooks that the host finds and those of the model's
// own library. The host checks its options like a manifest's.
struct ModelHook {
  std::string plugin;
  std::vector<OptionValue> options = {};
  std::string name = {};    // of the instance, unique among the session's hooks; empty: the plugin's name
  bool chief_only = false;  // on rank 0 alone, like TensorFlow's training_chief_hooks
};

// The arguments of build, and the setters for its results. It is valid for the call of build. Outputs are valid as long
// as the graph.
class ModelContext {
 public:
  // For the SDK. Copies the names; `args` need not outlive the object.
  ModelContext(const detail::Services* services, const belay_model_args& args)
      : s_(services), spec_(args.spec), mode_(static_cast<Mode>(args.mode)), graph_(&services->graph, args.graph) {
    for (std::uint64_t i = 0; i < args.n_features; ++i)
      features_.push_back(named(args.features[i], args.feature_classes, i));
    for (std::uint64_t i = 0; i < args.n_labels; ++i) labels_.push_back(named(args.labels[i], args.label_classes, i));
    for (std::uint64_t i = 0; i < args.n_declared_labels; ++i) {
      declared_.push_back(declared(args.declared_labels[i],
                                   args.declared_label_classes == nullptr ? 0 : args.declared_label_classes[i]));
      add_facts(args, i, declared_.back());
    }
  }

  // The mode of the graph. UNIMPLEMENTED is the answer to a mode that the model does not know.
  Mode mode() const noexcept { return mode_; }
  bool training() const noexcept { return mode_ == Mode::kTrain; }
  // The graph to build, open.
  const Graph& graph() const noexcept { return graph_; }
  // All features in the order of the input's declarations.
  const std::vector<NamedOutput>& features() const noexcept { return features_; }
  // All labels. Empty in mode kPredict: predictions must not need labels.
  const std::vector<NamedOutput>& labels() const noexcept { return labels_; }
  // The labels' names, types and shapes as the input declares them, the same in every mode. Use them to decide how a
  // model ends: a class or a number, and how many. Empty if the input declares no label.
  const std::vector<DeclaredLabel>& declared_labels() const noexcept { return declared_; }
  // Find a feature or label by name; without a name there must be exactly one. INVALID_ARGUMENT, with the known names:
  // the name is unknown, or there are several.
  Output feature(std::string_view name = {}) const { return pick(features_, "feature", name).output; }
  Output label(std::string_view name = {}) const { return pick(labels_, "label", name).output; }
  const DeclaredLabel& declared_label(std::string_view name = {}) const { return pick(declared_, "label", name); }
  // Return the number n of that feature's or label's classes: its values are in [0, n), such as a vocabulary's size. 0:
  // the input does not declare it.
  std::int64_t feature_classes(std::string_view name = {}) const { return pick(features_, "feature", name).classes; }
  std::int64_t label_classes(std::string_view name = {}) const { return pick(labels_, "label", name).classes; }

  // Sets the scalar to minimize. It is mandatory unless the mode is kPredict.
  void loss(const Output& o) { set(BELAY_ROLE_LOSS, "loss", o); }
  // Adds a prediction: one value per example. INVALID_ARGUMENT: the name is empty, taken, not UTF-8, or has a control
  // character. The same is true of metrics.
  void prediction(std::string_view name, const Output& o) { set(BELAY_ROLE_PREDICTION, name, o); }
  // Adds a metric: a scalar, the mean over a batch. The host averages it over batches by their number of examples.
  void metric(std::string_view name, const Output& value) { set(BELAY_ROLE_METRIC, name, value); }
  // Adds a metric with its own state: `update` runs with every batch, and `value` is read at the end. The value is a
  // scalar, or a float64 matrix [n, n] (ops::metrics::confusion_matrix). Scalars go to logs, events and comparisons. A
  // matrix is only written as a tensor with the results; it cannot be logged, plotted or used to stop.
  void metric(std::string_view name, const Output& value, const Output& update) {
    set(BELAY_ROLE_METRIC, name, value, update);
  }
  // Replaces the host's train operation. It must advance the global step.
  void train_op(const Output& o) { set(BELAY_ROLE_TRAIN_OP, "train_op", o); }
  // Adds a signature for exporters; `belay graph` lists them. INVALID_ARGUMENT: the name is taken, the method is
  // unknown, or an output is not in the graph.
  void signature(const Signature& s) {
    const std::vector<belay_named_output> inputs = raw(s.inputs), outputs = raw(s.outputs);
    auto raw_signature = detail::sized<belay_signature>();
    raw_signature.name = detail::str(s.name);
    raw_signature.method = detail::str(s.method);
    raw_signature.inputs = inputs.data(), raw_signature.n_inputs = inputs.size();
    raw_signature.outputs = outputs.data(), raw_signature.n_outputs = outputs.size();
    detail::Status status;
    status.check(s_->model.export_signature(spec_, &raw_signature, status));
  }
  // Adds a hook to the session of this graph. The session calls it after the hooks of the manifest. A hook from mode
  // kTrain belongs to the training, from kEval to each evaluation, from kPredict to the prediction. NOT_FOUND and
  // INVALID_ARGUMENT come after build.
  void hook(const ModelHook& h) {
    const detail::RawOptions options(h.options);
    auto raw_hook = detail::sized<belay_model_hook>();
    raw_hook.flags = h.chief_only ? BELAY_MODEL_HOOK_CHIEF_ONLY : 0;
    raw_hook.plugin = detail::str(h.plugin);
    raw_hook.name = detail::str(h.name);
    raw_hook.options = options.data(), raw_hook.n_options = options.size();
    detail::Status status;
    status.check(s_->model.add_hook(spec_, &raw_hook, status));
  }
  // Set the pieces of the session's scaffold, each at most once. A piece in the manifest's [scaffold] has precedence.
  // init_op runs in a new run, in place of the operation that runs all initializers.
  void init_op(const Output& o) { set(BELAY_ROLE_INIT_OP, "init_op", o); }
  // Runs in each session, besides the initializers of local variables and tables.
  void local_init_op(const Output& o) { set(BELAY_ROLE_LOCAL_INIT_OP, "local_init_op", o); }
  // A string vector: the names of the parts that are not ready. It is empty when the session may run.
  void ready_op(const Output& o) { set(BELAY_ROLE_READY_OP, "ready_op", o); }
  // The same vector, for the local init operation.
  void ready_for_local_init_op(const Output& o) {
    set(BELAY_ROLE_READY_FOR_LOCAL_INIT_OP, "ready_for_local_init_op", o);
  }
  // Serialized summaries, in place of all summaries of the graph.
  void summary_op(const Output& o) { set(BELAY_ROLE_SUMMARY_OP, "summary_op", o); }

 private:
  NamedOutput named(const belay_named_output& n, const std::int64_t* classes, std::uint64_t i) const {
    return {std::string(detail::view(n.name)), graph_.output(n.output), classes == nullptr ? 0 : classes[i]};
  }
  static DeclaredLabel declared(const belay_named_value& n, std::int64_t classes) {
    if (n.value.type != BELAY_VALUE_TENSOR || n.value.count != 1 || n.value.data == nullptr)
      fail(Code::kInvalidArgument, "the declared label '" + std::string(detail::view(n.name)) + "' is no tensor");
    const auto& t = *static_cast<const belay_tensor*>(n.value.data);
    return {std::string(detail::view(n.name)), static_cast<DType>(t.dtype),
            t.rank > 0 ? Dims(t.dims, t.dims + t.rank) : Dims{}, classes};
  }
  static void add_facts(const belay_model_args& args, std::uint64_t i, DeclaredLabel& label) {
    const auto n = static_cast<std::size_t>(label.classes);
    const belay_str* names = args.declared_label_class_names == nullptr ? nullptr : args.declared_label_class_names[i];
    for (std::size_t c = 0; names != nullptr && c < n; ++c) label.class_names.emplace_back(detail::view(names[c]));
    const double* counts = args.declared_label_class_counts == nullptr ? nullptr : args.declared_label_class_counts[i];
    if (counts != nullptr) label.class_counts.assign(counts, counts + n);
    if (args.declared_label_moments == nullptr) return;
    const double* moments = args.declared_label_moments + 4 * i;
    label.mean = moments[0], label.deviation = moments[1], label.log_mean = moments[2],
    label.log_deviation = moments[3];
  }
  template <class Named>
  static const Named& pick(const std::vector<Named>& from, const char* what, std::string_view name) {
    std::string all;
    for (const Named& n : from) {
      if (n.name == name) return n;
      all += (all.empty() ? "" : ", ") + n.name;
    }
    if (name.empty() && from.size() == 1) return from[0];
    if (name.empty())
      fail(Code::kInvalidArgument, std::string("the model expects one ") + what + ", the input has " +
                                       std::to_string(from.size()) + (all.empty() ? "" : ": " + all));
    fail(Code::kInvalidArgument, std::string("the input has no ") + what + " '" + std::string(name) + "'" +
                                     (all.empty() ? "" : "; it has: " + all));
  }
  static std::vector<belay_named_output> raw(const std::vector<NamedOutput>& outputs) {
    std::vector<belay_named_output> all;
    for (const NamedOutput& o : outputs) all.push_back({detail::str(o.name), o.output.raw()});
    return all;
  }
  void set(std::int32_t role, std::string_view name, const Output& o, const Output& update = {}) {
    detail::Status status;
    status.check(s_->model.set(spec_, role, detail::str(name), o.raw(), update.raw(), status));
  }

  const detail::Services* s_;
  belay_model_spec* spec_;
  Mode mode_;
  Graph graph_;
  std::vector<NamedOutput> features_;
  std::vector<NamedOutput> labels_;
  std::vector<DeclaredLabel> declared_;
};

// The base of plugins of the kind "model". One instance builds the graphs of all modes.
class Model : public Plugin {
 public:
  // Adds the model to the graph of model.mode(). An error ends the run before its first step, with the plugin's name.
  // [main]
  virtual void build(ModelContext& model) = 0;
  // Sets the first value of a variable, in place of its initializer's value. Only a new run asks, for each global
  // variable, before it is initialized. A resumed run does not ask, nor does an evaluation or prediction of a
  // checkpoint. `value` is zeroed memory of the variable's dtype and shape, valid for the call. Fill it
  // (value.data<float>()) and return true, or return false to keep the initializer's value. [session]
  virtual bool initial_value(std::string_view /*variable*/, const TensorView& /*value*/) { return false; }
};

}  // namespace v0
}  // namespace belay
