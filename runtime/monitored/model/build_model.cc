// SPDX-License-Identifier: Apache-2.0
#include "runtime/monitored/model/build_model.h"

#include <fmt/core.h>

#include <algorithm>

#include "belay/ops/control.h"
#include "belay/ops/summaries.h"
#include "belay/ops/training.h"
#include "belay/ops/variables.h"
#include "runtime/graph/call_with_graph.h"
#include "runtime/graph/graph_service.h"
#include "runtime/monitored/model/model_service.h"
#include "runtime/optimizer/sparse_gradients.h"
#include "runtime/platform/memory/guarded_memory.h"
#include "runtime/session/session_service.h"

namespace belay::runtime {
namespace {

std::vector<belay_named_output> raw(const std::vector<NamedOutput>& outputs) {
  std::vector<belay_named_output> out;
  for (const NamedOutput& o : outputs) out.push_back({detail::str(o.name), o.output.raw()});
  return out;
}

template <class Named>
std::vector<std::int64_t> classes_of(const std::vector<Named>& all) {
  std::vector<std::int64_t> out;
  for (const Named& n : all) out.push_back(n.classes);
  return out;
}

std::vector<DeclaredLabel> declared_of(const std::vector<NamedOutput>& labels) {
  std::vector<DeclaredLabel> out;
  for (const NamedOutput& l : labels) out.push_back({l.name, l.output.dtype(), l.output.dims(), l.classes});
  return out;
}

// Declared labels in the form of the ABI. It keeps their memory; `labels` outlives it.
class RawDeclared {
 public:
  explicit RawDeclared(const std::vector<DeclaredLabel>& labels) : classes_(classes_of(labels)) {
    for (const DeclaredLabel& l : labels)
      tensors_.push_back(detail::described(l.dtype, static_cast<std::int32_t>(l.dims.size()), l.dims.data()));
    for (std::size_t i = 0; i < labels.size(); ++i)
      values_.push_back({detail::str(labels[i].name), {BELAY_VALUE_TENSOR, 0, 1, &tensors_[i]}});
    names_.resize(labels.size());
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const DeclaredLabel& l = labels[i];
      const auto n = static_cast<std::size_t>(l.classes);
      for (const std::string& name : l.class_names) names_[i].push_back(detail::str(name));
      lists_of_names_.push_back(n > 0 && names_[i].size() == n ? names_[i].data() : nullptr);
      lists_of_counts_.push_back(n > 0 && l.class_counts.size() == n ? l.class_counts.data() : nullptr);
      moments_.insert(moments_.end(), {l.mean, l.deviation, l.log_mean, l.log_deviation});
    }
  }
  void fill(belay_model_args& args) const {
    args.declared_labels = values_.data();
    args.n_declared_labels = values_.size();
    args.declared_label_classes = classes_.data();
    args.declared_label_class_names = lists_of_names_.data();
    args.declared_label_class_counts = lists_of_counts_.data();
    args.declared_label_moments = moments_.data();
  }

 private:
  std::vector<std::int64_t> classes_;
  std::vector<std::vector<belay_str>> names_;
  std::vector<const belay_str*> lists_of_names_;
  std::vector<const double*> lists_of_counts_;
  std::vector<double> moments_;
  std::vector<belay_tensor> tensors_;
  std::vector<belay_named_value> values_;
};

// Returns false if the slot is a stub.
bool has_initial_values(const belay_model_api& table) {
  static const belay_model_api none =
      detail::adopt<detail::Absent::kSkip>(static_cast<const belay_model_api*>(nullptr));
  return table.initial_value != nullptr && table.initial_value != none.initial_value;
}

// The mean is one of the step's operations, so fetching it adds nothing to the step.
Output mean_of_step(const std::string& name, const Output& value, std::int64_t accumulate) {
  if (value.dtype() != DType::kFloat32 && value.dtype() != DType::kFloat64) return value;
  const Output mean = ops::mean_over_batches(value, accumulate, name + "_of_step");
  mean.graph().collect(collections::kUpdateOps, mean.operation());
  return mean;
}

// Adds the roles by which hooks fetch loss and metrics, and their summaries. `of_step` makes their values those of the
// step.
template <class OfStep>
void add_value_roles(NodeGraph& graph, const ModelOutputs& out, Mode mode, const OfStep& of_step) {
  const auto port = [&](const Output& o) { return graph.resolve(o.raw()); };
  for (const ModelOutputs::Metric& m : out.metrics) {
    const Output value = m.update ? m.value : of_step(m.name, m.value);
    graph.set_role(m.name, port(value));
    if (mode == Mode::kTrain && !m.update) ops::scalar_summary(m.name, value, m.name + "_summary");
  }
  if (out.loss) {
    const Output loss = of_step("loss", out.loss);
    graph.set_role("loss", port(loss));
    if (mode == Mode::kTrain) ops::scalar_summary("loss", loss, "loss_summary");
  }
}

// `call` runs the model's build on the arguments, and `label` names the model.
template <class Call>
ModelOutputs build(const Call& call, const std::string& label, NodeGraph& graph, Mode mode,
                   const std::vector<NamedOutput>& features, const std::vector<NamedOutput>& labels,
                   const std::vector<DeclaredLabel>& declared, std::int64_t accumulate, bool over_ranks = false) {
  ops::get_or_create_global_step(graph.handle());
  ModelSpec spec{graph};
  const std::vector<belay_named_output> raw_features = raw(features), raw_labels = raw(labels);
  const std::vector<std::int64_t> feature_classes = classes_of(features), label_classes = classes_of(labels);
  auto args = detail::sized<belay_model_args>();
  args.mode = static_cast<std::int32_t>(mode);
  args.graph = to_handle(&graph);
  args.features = raw_features.data();
  args.n_features = raw_features.size();
  args.labels = raw_labels.data();
  args.n_labels = raw_labels.size();
  args.feature_classes = feature_classes.data();
  args.label_classes = label_classes.data();
  const std::vector<DeclaredLabel> declared_labels = declared.empty() ? declared_of(labels) : declared;
  const RawDeclared raw_declared(declared_labels);
  raw_declared.fill(args);
  args.spec = to_handle(&spec);
  call(args);

  ModelOutputs& out = spec.outputs;
  if (!out.loss && mode != Mode::kPredict)
    fail(Code::kInvalidArgument, fmt::format("[B5084] {} has no loss; its build must call loss(...)", label));
  for (const NamedOutput& p : out.predictions) graph.set_role(p.name, graph.resolve(p.output.raw()));
  if (over_ranks) return out;
  add_value_roles(graph, out, mode, [&](const std::string& name, const Output& o) {
    return mode == Mode::kTrain && accumulate > 1 ? mean_of_step(name, o, accumulate) : o;
  });
  return out;
}

}  // namespace

namespace {

std::string global_step_of(NodeGraph& graph) {
  const belay::Graph g = graph.handle();
  return g.node_name_of(ops::get_or_create_global_step(g));
}

InitialValues initial_values_of(PluginInstance& model, NodeGraph& graph) {
  if (!has_initial_values(model.table<belay_model_api>())) return {};
  return [&model, step = global_step_of(graph)](const std::string& variable, const belay_tensor& value) {
    std::int32_t given = 0;
    const auto take = [&] {
      if (given != 0 && given != 1)
        fail(Code::kInvalidArgument,
             fmt::format("[B5082] it returned given = {} for the variable '{}'; 1: it filled the value", given,
                         variable));
      if (value.data != nullptr && !guards_hold(value.data, value.bytes))
        fail_outside("the value of '" + variable + "'", value.data, value.bytes);
      if (given == 1 && variable == step) refuse_negative_step(step, TensorView(value));
    };
    model.call_and_take("initial_value", &belay_model_api::initial_value, take, detail::str(variable), &value, &given);
    return given == 1;
  };
}

}  // namespace

ModelOutputs build_model(PluginInstance& model, NodeGraph& graph, Mode mode, const std::vector<NamedOutput>& features,
                         const std::vector<NamedOutput>& labels, const std::vector<DeclaredLabel>& declared,
                         std::int64_t accumulate) {
  ModelOutputs out = build(
      [&](const belay_model_args& args) { call_with_graph(graph, model, "build", &belay_model_api::build, &args); },
      model.label(), graph, mode, features, labels, declared, accumulate);
  out.initial_values = initial_values_of(model, graph);
  return out;
}

ModelOutputs build_model_over_ranks(PluginInstance& model, NodeGraph& graph, const std::vector<NamedOutput>& features,
                                    const std::vector<NamedOutput>& labels,
                                    const std::vector<DeclaredLabel>& declared) {
  ModelOutputs out = build(
      [&](const belay_model_args& args) { call_with_graph(graph, model, "build", &belay_model_api::build, &args); },
      model.label(), graph, Mode::kTrain, features, labels, declared, 1, true);
  out.initial_values = initial_values_of(model, graph);
  return out;
}

ModelOutputs build_model(const ModelHandle& model, NodeGraph& graph, Mode mode,
                         const std::vector<NamedOutput>& features, const std::vector<NamedOutput>& labels,
                         const std::vector<DeclaredLabel>& declared, std::int64_t accumulate) {
  ModelOutputs out = build(
      [&](const belay_model_args& args) {
        const CallbackScopes scopes(graph);
        detail::Status status;
        status.check(model.table()->build(model.self(), &args, status));
        scopes.check();
      },
      "the model", graph, mode, features, labels, declared, accumulate);
  if (has_initial_values(*model.table()))
    out.initial_values = [&model, step = global_step_of(graph)](const std::string& variable,
                                                                const belay_tensor& value) {
      detail::Status status;
      std::int32_t given = 0;
      status.check(model.table()->initial_value(model.self(), detail::str(variable), &value, &given, status));
      if (given != 0 && variable == step) refuse_negative_step(step, TensorView(value));
      return given != 0;
    };
  return out;
}

void add_train_op(NodeGraph& graph, const OptimizerUse& optimizer, ModelOutputs& outputs) {
  const OptimizerSettings& settings = optimizer.settings;
  if (outputs.train_op && (settings.accumulate > 1 || !settings.groups.empty()))
    fail(Code::kInvalidArgument,
         "[B5085] the model brings its own train operation, which optimizer.accumulate and optimizer.groups do not "
         "change; "
         "take them away");
  if (!outputs.train_op) outputs.train_op = minimize(graph.handle(), outputs.loss, optimizer);
  graph.set_role("train_op", graph.resolve(outputs.train_op.raw()));
}

namespace {

[[noreturn]] void refuse_over_ranks(const std::string& what) {
  fail(Code::kInvalidArgument,
       fmt::format("[B5085] {}, which several processes cannot train together yet; start one process", what));
}

// Returns true for an operation of the step, not the optimizer's, that changes a variable by a value. All ranks then
// use the mean of their values, for example for batch norm's moving averages.
bool has_mean(const Node& update) {
  const std::string& op = update.op->name;
  return (op == "Assign" || op == "AssignAdd" || op == "AssignSub") && update.control_inputs.empty();
}

void check_over_ranks(const NodeGraph& graph, const ModelOutputs& outputs) {
  if (outputs.train_op) refuse_over_ranks("the model brings its own train operation");
  for (const Port& p : graph.collection(collections::kUpdateOps))
    if (!has_mean(graph.node(p.node)))
      refuse_over_ranks("the model adds '" + graph.port_name(p) + "' to each step, a " + graph.node(p.node).op->name +
                        ", which has no mean over the processes");
  for (const ModelOutputs::Metric& m : outputs.metrics)
    if (m.update) refuse_over_ranks("the model's metric '" + m.name + "' is kept from step to step");
  for (const ModelOutputs::Hook& hook : outputs.hooks)
    if (!hook.chief_only) refuse_over_ranks("the model brings the hook '" + hook.use.plugin + "' for each process");
}

}  // namespace

namespace {

// Each value begins on a cache line of its bucket. A bucket below the least size costs more than it saves: between two
// processes of one machine it takes as long as an empty exchange.
constexpr std::int64_t kBucketLine = 16, kLeastBucketBytes = 1 << 16;

// The shared values of the ranks in a step: buckets; one node waits for them.
class RankMeans {
 public:
  RankMeans(NodeGraph& graph, const Output& batch, std::int64_t accumulate)
      : graph_(graph),
        batch_(batch),
        queue_(graph.output({graph.node(graph.resolve(batch.raw()).node).inputs[0].node, 0})),
        accumulate_(accumulate) {}

  enum class Kind { kGradient, kOther };
  // The mean over the rows of all ranks, of all batches of the step, replaces the value. It has the shape of `like`.
  void add(Output& value, const Output& like, Kind kind, const std::string& name) {
    check(value, like);
    if (accumulate_ > 1) {
      const Graph g = graph_.handle();
      const auto after = g.after({batch_});
      value = g.node("PartOfStep", name).in(queue_).in(value).attr("batches", accumulate_).output();
    }
    values_.push_back({&value, like.dims(), kind, accumulate_ > 1});
  }
  // The rows of all ranks replace the gradient's, with the same weights. It stays sparse.
  void add_rows(VariableGradient& v, const std::string& name) {
    check(v.slices->rows, v.variable);
    if (accumulate_ > 1) v.slices = sum_padded_slices(v.variable, of_step(*v.slices, name), name + "/sum_of_step");
    rows_.push_back({&v, name});
  }
  // The mean over the rows of the step's last batch.
  void add_of_last_batch(Output& value, const Output& like) {
    check(value, like);
    values_.push_back({&value, like.dims(), Kind::kOther, false});
  }
  void make(const RankExchange& exchange) {
    fill_buckets(exchange);
    NodeBuilder mean = graph_.handle().node("MeanOverRanks", "over_ranks");
    mean.in(queue_).control(batch_);
    Output before;
    for (std::size_t b = 0; b < buckets_.size(); ++b) {
      before = begin_bucket(b, before);
      mean.control(before);
    }
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      before = begin_rows(buckets_.size() + i, *rows_[i].gradient, before);
      mean.control(before);
    }
    std::vector<std::int64_t> buckets, offsets, shapes;
    for (const Value& v : values_) {
      buckets.push_back(static_cast<std::int64_t>(v.bucket));
      offsets.push_back(v.offset);
      shapes.push_back(static_cast<std::int64_t>(v.dims.size()));
      for (const std::int64_t dim : v.dims) shapes.push_back(dim);
    }
    mean.attr("buckets", buckets).attr("offsets", offsets).attr("shapes", shapes);
    const Output first = mean.attr("batches", accumulate_).attr("ranks", exchange.ranks).output();
    for (std::size_t i = 0; i < values_.size(); ++i) *values_[i].value = first.sibling(static_cast<std::uint32_t>(i));
    for (std::size_t i = 0; i < rows_.size(); ++i) take_rows(buckets_.size() + i, rows_[i], before);
  }

 private:
  struct Value {
    Output* value;
    Dims dims;
    Kind kind;
    bool summed;  // it is multiplied by its weight already
    std::size_t bucket = 0;
    std::int64_t offset = 0;
  };
  struct Rows {
    VariableGradient* gradient;
    std::string name;
  };
  struct Bucket {
    std::vector<const Value*> values = {};
    std::int64_t elements = 0;
    bool gradients = false;
  };

  static void check(const Output& value, const Output& like) {
    if (value.dtype() != DType::kFloat32) refuse_over_ranks("'" + value.name() + "' is " + dtype_name(value.dtype()));
    const Dims dims = like.dims();
    if (like.rank() < 0 || std::any_of(dims.begin(), dims.end(), [](std::int64_t d) { return d < 0; }))
      refuse_over_ranks("the shape of '" + value.name() + "' is known only when it is computed");
  }
  static std::int64_t room_of(const Value& v) {
    return std::max<std::int64_t>((count_of(v.dims) + kBucketLine - 1) / kBucketLine, 1) * kBucketLine;
  }

  // A step runs nodes in the order in which they were made.
  std::vector<Value*> in_order_of_step(bool gradients_last) {
    std::vector<Value*> order;
    for (Value& v : values_) order.push_back(&v);
    std::stable_sort(order.begin(), order.end(), [&](const Value* a, const Value* b) {
      if (gradients_last && a->kind != b->kind) return a->kind == Kind::kOther;
      return graph_.resolve(a->value->raw()).node < graph_.resolve(b->value->raw()).node;
    });
    return order;
  }
  void fill_buckets(const RankExchange& exchange) {
    std::int64_t total = 0;
    for (const Value& v : values_) total += room_of(v);
    const std::int64_t bytes = std::max(total * static_cast<std::int64_t>(sizeof(float)) / 4, kLeastBucketBytes);
    const double most = std::min(static_cast<double>(bytes), exchange.bucket_mib * (1 << 20)) / sizeof(float);
    for (Value* v : in_order_of_step(exchange.rounds_gradients)) {
      const std::int64_t room = room_of(*v);
      const bool rounded = exchange.rounds_gradients && v->kind == Kind::kGradient;
      if (buckets_.empty() || buckets_.back().gradients != rounded ||
          static_cast<double>(buckets_.back().elements + room) > most)
        buckets_.push_back({.gradients = rounded});
      Bucket& bucket = buckets_.back();
      v->bucket = buckets_.size() - 1;
      v->offset = bucket.elements;
      bucket.elements += room;
      bucket.values.push_back(v);
    }
  }
  // All ranks begin the buckets in the same order: each one after its predecessor.
  Output begin_bucket(std::size_t number, const Output& before) {
    const Bucket& bucket = buckets_[number];
    NodeBuilder node = graph_.handle().node("BeginBucket", fmt::format("over_ranks/bucket_{}", number));
    node.in(queue_).control(before ? before : batch_);
    std::vector<std::int64_t> offsets, summed;
    for (const Value* v : bucket.values) {
      node.in(*v->value);
      offsets.push_back(v->offset);
      summed.push_back(v->summed ? 1 : 0);
    }
    node.attr("bucket", static_cast<std::int64_t>(number)).attr("elements", bucket.elements);
    node.attr("offsets", offsets).attr("summed", summed).attr("gradients", bucket.gradients);
    return node.operation();
  }

  ops::IndexedSlices of_step(const ops::IndexedSlices& of_batch, const std::string& name) {
    const auto after = graph_.handle().after({batch_});
    return slices_of_step(of_batch, queue_, accumulate_, name + "/of_step");
  }
  // Buckets of rows come last: the gradients of the first layer are ready last.
  Output begin_rows(std::size_t number, const VariableGradient& v, const Output& before) {
    NodeBuilder node = graph_.handle().node("BeginRows", fmt::format("over_ranks/bucket_{}", number));
    node.in(queue_).in(v.slices->indices).in(v.slices->rows).control(before);
    node.attr("bucket", static_cast<std::int64_t>(number)).attr("elements", count_of(row_of(v)));
    return node.attr("summed", accumulate_ > 1).operation();
  }
  // `last` begins the last bucket of the step.
  void take_rows(std::size_t number, const Rows& rows, const Output& last) {
    VariableGradient& v = *rows.gradient;
    NodeBuilder node = graph_.handle().node("RowsOverRanks", rows.name + "/over_ranks");
    node.in(queue_).control(last).attr("bucket", static_cast<std::int64_t>(number)).attr("row", row_of(v));
    const Output indices = node.output();
    v.slices = sum_padded_slices(v.variable, {indices, indices.sibling(1)}, rows.name + "/sum_over_ranks");
    v.gradient = dense_of(v.variable, *v.slices, rows.name + "/dense");
  }
  static Dims row_of(const VariableGradient& v) {
    const Dims dims = v.variable.dims();
    return Dims(dims.begin() + 1, dims.end());
  }

  NodeGraph& graph_;
  const Output batch_, queue_;
  const std::int64_t accumulate_;
  std::vector<Value> values_;
  std::vector<Rows> rows_;
  std::vector<Bucket> buckets_;
};

// One of the model's own updates of a variable in each step.
struct MeanUpdate {
  std::string op, name;
  Output variable, value;
};

std::vector<MeanUpdate> updates_of_step(NodeGraph& graph) {
  std::vector<MeanUpdate> updates;
  for (const Port& p : graph.collection(collections::kUpdateOps)) {
    const Node& update = graph.node(p.node);
    updates.push_back({update.op->name, update.name, graph.output(update.inputs[0]), graph.output(update.inputs[1])});
  }
  return updates;
}

// The new updates replace those of the model.
void replace_updates(NodeGraph& graph, const std::vector<MeanUpdate>& updates) {
  std::vector<Port> made;
  for (const MeanUpdate& u : updates) {
    const Output mean = graph.handle().node(u.op, u.name + "_over_ranks").in(u.variable).in(u.value).output();
    made.push_back(graph.resolve(mean.raw()));
  }
  graph.replace_collection(collections::kUpdateOps, std::move(made));
}

}  // namespace

void add_train_op_over_ranks(NodeGraph& graph, const OptimizerUse& optimizer, const Output& batch,
                             const RankExchange& exchange, ModelOutputs& outputs) {
  check_over_ranks(graph, outputs);
  const Graph g = graph.handle();
  OptimizerSettings of_a_batch = optimizer.settings;
  of_a_batch.accumulate = 1;
  std::vector<VariableGradient> gradients =
      gradients_of_step(g, outputs.loss, of_a_batch, g.collection(collections::kTrainableVariables));
  take_sparse_gradients(g, gradients, optimizer);
  std::vector<MeanUpdate> updates = updates_of_step(graph);
  RankMeans all(graph, batch, optimizer.settings.accumulate);
  using Kind = RankMeans::Kind;
  for (VariableGradient& v : gradients) {
    if (v.slices) {
      all.add_rows(v, "sparse_gradients/" + g.node_name_of(v.variable));
    } else {
      all.add(v.gradient, v.variable, Kind::kGradient, "accumulate/part");
    }
  }
  all.add(outputs.loss, outputs.loss, Kind::kOther, "loss_of_step");
  for (ModelOutputs::Metric& m : outputs.metrics) all.add(m.value, m.value, Kind::kOther, m.name + "_of_step");
  for (MeanUpdate& u : updates) all.add_of_last_batch(u.value, u.variable);
  all.make(exchange);
  replace_updates(graph, updates);
  std::vector<Port> combined;
  for (const VariableGradient& v : gradients)
    combined.push_back(graph.resolve((v.slices ? v.slices->rows : v.gradient).raw()));
  graph.replace_collection(collections::kGradients, std::move(combined));
  outputs.train_op = update_variables(g, gradients, optimizer);
  graph.set_role("train_op", graph.resolve(outputs.train_op.raw()));
  add_value_roles(graph, outputs, Mode::kTrain, [](const std::string&, const Output& o) { return o; });
}

namespace {

bool reaches(const NodeGraph& graph, std::uint32_t from, std::uint32_t wanted) {
  std::vector<bool> seen(graph.size());
  std::vector<std::uint32_t> open{from};
  while (!open.empty()) {
    const std::uint32_t id = open.back();
    open.pop_back();
    if (id == wanted) return true;
    if (seen[id]) continue;
    seen[id] = true;
    const Node& node = graph.node(id);
    for (const Port& p : node.inputs) open.push_back(p.node);
    open.insert(open.end(), node.control_inputs.begin(), node.control_inputs.end());
  }
  return false;
}

}  // namespace

bool take_batch(NodeGraph& graph, const Output& batch, ModelOutputs& outputs) {
  if (reaches(graph, graph.resolve(outputs.train_op.raw()).node, graph.resolve(batch.raw()).node)) return false;
  const auto with_batch = [&](const Output& train_op) {
    return ops::group(graph.handle(), {batch, train_op}, "train/take_batch");
  };
  const Port first = graph.resolve(outputs.train_op.raw());
  outputs.train_op = with_batch(outputs.train_op);
  graph.successions().move(first, graph.resolve(outputs.train_op.raw()),
                           [&](Port next) { return graph.resolve(with_batch(graph.output(next)).raw()); });
  graph.set_role("train_op", graph.resolve(outputs.train_op.raw()));
  return true;
}

}  // namespace belay::runtime
