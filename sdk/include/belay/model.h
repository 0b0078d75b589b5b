// SPDX-License-Identifier: Apache-2.0
// A Model builds a graph: from the features and labels of an input to a loss, predictions and metrics. The host calls
// build once per graph (training and evaluation have their own) and adds the train operation from [optimizer]. What it
// may say of the graph is what TensorFlow's EstimatorSpec takes: eval_metric_ops are metrics, export_outputs
// signatures, the hooks of each mode are those that build brings in that mode, and the scaffold's pieces are roles.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "belay/graph.h"
#include "belay/option_value.h"

namespace belay {
inline namespace v0 {

struct NamedOutput {
  std::string name;
  Output output;
  std::int64_t classes = 0;  // of a feature or label: its values are in [0, classes); 0: the input did not say
};

// A label as the input declares it: known in every mode, while the label itself is there for training and evaluation
// only.
struct DeclaredLabel {
  std::string name;
  DType dtype = DType::kInvalid;
  Dims dims;                 // dims[0] is the batch; -1: unknown
  std::int64_t classes = 0;  // as of NamedOutput

  // "'digit' (int64 [?])"
  std::string text() const { return "'" + name + "' (" + dtype_name(dtype) + " " + dims_text(dims) + ")"; }
};

// How the trained model is called when it is served, as in TensorFlow's SavedModel.
struct Signature {
  std::string name;                  // unique in the model; a client that names none gets "serving_default"
  std::string method;                // "predict", "classify" or "regress"
  std::vector<NamedOutput> inputs;   // tensors; their classes are not used
  std::vector<NamedOutput> outputs;  // tensors
};

// A hook that comes with the model, by its name among the hooks that the host finds and those of the model's own
// library. Its options are checked as a manifest's are.
struct ModelHook {
  std::string plugin;
  std::vector<OptionValue> options = {};
  std::string name = {};    // of the instance: unique among the session's hooks; empty: the plugin's
  bool chief_only = false;  // on rank 0 alone, as TensorFlow's training_chief_hooks
};

class ModelContext {
 public:
  ModelContext(const detail::Services* services, const belay_model_args& args)
      : s_(services), spec_(args.spec), mode_(static_cast<Mode>(args.mode)), graph_(&services->graph, args.graph) {
    for (std::uint64_t i = 0; i < args.n_features; ++i)
      features_.push_back(named(args.features[i], args.feature_classes, i));
    for (std::uint64_t i = 0; i < args.n_labels; ++i) labels_.push_back(named(args.labels[i], args.label_classes, i));
    for (std::uint64_t i = 0; i < args.n_declared_labels; ++i)
      declared_.push_back(declared(args.declared_labels[i],
                                   args.declared_label_classes == nullptr ? 0 : args.declared_label_classes[i]));
  }

  Mode mode() const noexcept { return mode_; }
  bool training() const noexcept { return mode_ == Mode::kTrain; }
  const Graph& graph() const noexcept { return graph_; }
  const std::vector<NamedOutput>& features() const noexcept { return features_; }
  // Empty in mode kPredict: predictions must be built without labels.
  const std::vector<NamedOutput>& labels() const noexcept { return labels_; }
  // The labels' names, types and shapes as the input declares them, the same in every mode: what decides how a model
  // ends (a class or a number, how many) decides by these. Empty where the input declares no label.
  const std::vector<DeclaredLabel>& declared_labels() const noexcept { return declared_; }
  // By name; without a name the only one. An error lists what there is.
  Output feature(std::string_view name = {}) const { return pick(features_, "feature", name).output; }
  Output label(std::string_view name = {}) const { return pick(labels_, "label", name).output; }
  const DeclaredLabel& declared_label(std::string_view name = {}) const { return pick(declared_, "label", name); }
  // The values of that feature or label are in [0, n), as its input says: a vocabulary's size, a number of classes. 0
  // where it does not say.
  std::int64_t feature_classes(std::string_view name = {}) const { return pick(features_, "feature", name).classes; }
  std::int64_t label_classes(std::string_view name = {}) const { return pick(labels_, "label", name).classes; }

  // The scalar to minimize; mandatory unless the mode is kPredict.
  void loss(const Output& o) { set(BELAY_ROLE_LOSS, "loss", o); }
  // A value per example.
  void prediction(std::string_view name, const Output& o) { set(BELAY_ROLE_PREDICTION, name, o); }
  // A scalar: the mean over a batch, averaged over batches by their number of examples.
  void metric(std::string_view name, const Output& value) { set(BELAY_ROLE_METRIC, name, value); }
  // A metric with state of its own: `update` runs with every batch, `value` is read at the end. The value is a scalar,
  // or a float64 matrix [n, n] (ops::metrics::confusion_matrix). Scalars go to logs, events and whatever compares
  // metrics; a matrix is written as a tensor where results are written as values, and is no number to log, to plot or
  // to stop on.
  void metric(std::string_view name, const Output& value, const Output& update) {
    set(BELAY_ROLE_METRIC, name, value, update);
  }
  // Replaces the host's train operation; must advance the global step.
  void train_op(const Output& o) { set(BELAY_ROLE_TRAIN_OP, "train_op", o); }
  // For whatever exports the model; `belay graph` lists them.
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
  // Called in the session of this graph, behind the hooks of the manifest: one that is brought in mode kTrain is one of
  // the training's, in kEval of each evaluation's, in kPredict of the prediction's.
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
  // The pieces of the session's scaffold, each at most once. What [scaffold] of the manifest names has precedence.
  // Instead of the operation that runs all initializers, in a new run.
  void init_op(const Output& o) { set(BELAY_ROLE_INIT_OP, "init_op", o); }
  // Besides the one for local variables and tables; whenever a session is made.
  void local_init_op(const Output& o) { set(BELAY_ROLE_LOCAL_INIT_OP, "local_init_op", o); }
  // A string vector, the names of what is not ready: empty where the session may run.
  void ready_op(const Output& o) { set(BELAY_ROLE_READY_OP, "ready_op", o); }
  // The same, for the local init operation.
  void ready_for_local_init_op(const Output& o) {
    set(BELAY_ROLE_READY_FOR_LOCAL_INIT_OP, "ready_for_local_init_op", o);
  }
  // Serialized summaries, in place of all of the graph.
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

class Model : public Plugin {
 public:
  virtual void build(ModelContext& model) = 0;
  // The value with which a variable begins, instead of what its initializer computes. Asked for each variable of a new
  // run, before it is initialized; not by a run that is resumed, and not where a checkpoint is evaluated or predicted
  // with. `value` is zeroed memory of the variable's dtype and shape: fill it (value.data<float>()) and return true, or
  // return false, and the initializer's value stays.
  virtual bool initial_value(std::string_view /*variable*/, const TensorView& /*value*/) { return false; }
};

}  // namespace v0
}  // namespace belay
