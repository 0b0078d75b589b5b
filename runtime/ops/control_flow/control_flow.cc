// SPDX-License-Identifier: Apache-2.0
// Nodes that run bodies: Cond and While. Inside a body, a BodyInput node has the value of one of their inputs.
#include "belay/ops/control_flow.h"

#include <fmt/core.h>

#include <cstring>
#include <unordered_map>

#include "runtime/graph/body.h"
#include "runtime/ops/registry.h"

namespace belay::runtime {
namespace {

using Spec = std::pair<DType, Shape>;

void infer_body_input(InferContext& c) {
  const DType dtype = c.attrs().dtype("dtype");
  c.output(dtype, c.attrs().flag("unknown_rank") ? Shape::unknown() : Shape(c.attrs().integers("shape")));
}

// ---- shapes

std::string spec_text(const Spec& s) { return std::string(dtype_name(s.first)) + " " + s.second.text(); }

// Returns dtypes and shapes of the body's outputs for these inputs. It applies the shape rules of its nodes again, in
// order.
std::vector<Spec> infer_body(const NodeGraph& graph, const GraphBody& body, const std::vector<Spec>& inputs) {
  std::unordered_map<std::uint32_t, std::vector<Spec>> found;
  std::size_t at = 0;
  for (const std::uint32_t id : body.arguments) found[id] = {inputs[at++]};
  for (const auto& [id, outer] : body.captures) found[id] = {inputs[at++]};
  const auto infer = [&](auto& self, std::uint32_t id) -> const std::vector<Spec>& {
    const auto known = found.find(id);
    if (known != found.end()) return known->second;
    const Node& n = graph.node(id);
    std::vector<DType> dtypes;
    std::vector<Shape> shapes;
    for (const Port& in : n.inputs) {
      const Spec spec = self(self, in.node)[in.index];
      dtypes.push_back(spec.first);
      shapes.push_back(spec.second);
    }
    InferContext context(*n.op, n.name, n.attrs, std::move(dtypes), std::move(shapes), &graph);
    n.op->infer(context);
    return found[id] = std::move(context.outputs());
  };
  std::vector<Spec> outputs;
  for (const Port& p : body.outputs) outputs.push_back(infer(infer, p.node)[p.index]);
  return outputs;
}

std::vector<Spec> inputs_between(const InferContext& c, std::size_t begin, std::size_t end) {
  std::vector<Spec> specs;
  for (std::size_t i = begin; i < end; ++i) specs.emplace_back(c.dtype(i), c.shape(i));
  return specs;
}

const GraphBody& body_of(const InferContext& c, const char* attr) {
  return c.graph()->body(c.attrs().text(attr), "node '" + c.node_name() + "' (" + c.op().name + ")");
}

void need_inputs(const InferContext& c, std::size_t n) {
  if (c.n_inputs() != n) c.fail(fmt::format("expected {} inputs for its bodies, got {}", n, c.n_inputs()));
}

void infer_cond(InferContext& c) {
  const GraphBody& yes = body_of(c, "then_body");
  const GraphBody& no = body_of(c, "else_body");
  for (const GraphBody* b : {&yes, &no})
    if (!b->arguments.empty()) c.fail("body '" + b->name + "' has arguments; a branch has captures only");
  need_inputs(c, 1 + yes.captures.size() + no.captures.size());
  c.need_dtype(0, DType::kBool);
  c.need_scalar(0);
  const std::size_t split = 1 + yes.captures.size();
  const std::vector<Spec> a = infer_body(*c.graph(), yes, inputs_between(c, 1, split));
  const std::vector<Spec> b = infer_body(*c.graph(), no, inputs_between(c, split, c.n_inputs()));
  if (a.size() != b.size())
    c.fail(fmt::format("branch '{}' has {} outputs, '{}' has {}", yes.name, a.size(), no.name, b.size()));
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].first == DType::kString) c.fail(fmt::format("output {} is a string tensor; branches return numbers", i));
    bool ok = true;
    const Shape both = Shape::merged(a[i].second, b[i].second, ok);
    if (!ok || a[i].first != b[i].first)
      c.fail(fmt::format("output {} is {} in branch '{}' and {} in '{}'; both must return one dtype and shape", i,
                         spec_text(a[i]), yes.name, spec_text(b[i]), no.name));
    c.output(a[i].first, both);
  }
}

void infer_while(InferContext& c) {
  const GraphBody& condition = body_of(c, "condition_body");
  const GraphBody& body = body_of(c, "loop_body");
  const std::size_t n = body.arguments.size();
  if (n == 0 || condition.arguments.size() != n || body.outputs.size() != n)
    c.fail(fmt::format("the condition takes {} values, the body takes {} and returns {}; all must be the same number",
                       condition.arguments.size(), n, body.outputs.size()));
  need_inputs(c, n + condition.captures.size() + body.captures.size());
  const std::vector<Spec> values = inputs_between(c, 0, n);
  std::vector<Spec> asked = inputs_between(c, 0, n + condition.captures.size());
  const std::vector<Spec> answer = infer_body(*c.graph(), condition, asked);
  if (answer.size() != 1 || answer[0].first != DType::kBool || !answer[0].second.allows({}))
    c.fail("the condition '" + condition.name + "' returns " + spec_text(answer[0]) +
           "; it must return one bool scalar");
  std::vector<Spec> taken = values;
  const std::vector<Spec> captured = inputs_between(c, asked.size(), c.n_inputs());
  taken.insert(taken.end(), captured.begin(), captured.end());
  const std::vector<Spec> given = infer_body(*c.graph(), body, taken);
  for (std::size_t i = 0; i < n; ++i) {
    if (values[i].first == DType::kString) c.fail(fmt::format("value {} is a string tensor; loops take numbers", i));
    if (given[i].first != values[i].first || !Shape::compatible(given[i].second, values[i].second))
      c.fail(fmt::format("value {} begins as {}, the body '{}' makes it {}; a loop changes neither dtype nor shape", i,
                         spec_text(values[i]), body.name, spec_text(given[i])));
    c.output(values[i].first, values[i].second);
  }
}

void no_gradient(GradContext& c) {
  fail(Code::kUnimplemented, "node '" + c.node().name + "' (" + c.node().op->name +
                                 "): no gradient passes through cond and while yet; put stop_gradient in front of it, "
                                 "or write it with select or a fixed number of steps");
}

// ---- kernels

std::vector<TensorSpec> specs_between(const std::vector<TensorSpec>& all, std::size_t begin, std::size_t end) {
  return {all.begin() + static_cast<std::ptrdiff_t>(begin), all.begin() + static_cast<std::ptrdiff_t>(end)};
}

const GraphBody& body_of(const KernelSpec& spec, const char* attr) {
  return spec.bodies->graph().body(spec.attrs().text(attr), "node '" + spec.node.name + "'");
}

class CondKernel final : public Kernel {
 public:
  explicit CondKernel(const KernelSpec& spec) : else_begin_(1 + body_of(spec, "then_body").captures.size()) {
    then_ = spec.bodies->make(body_of(spec, "then_body"), specs_between(spec.inputs, 1, else_begin_), spec);
    else_ = spec.bodies->make(body_of(spec, "else_body"), specs_between(spec.inputs, else_begin_, spec.inputs.size()),
                              spec);
  }
  void run(void* const* in, void* const* out, const KernelContext& context) override {
    if (*input<bool>(in, 0)) {
      then_->run(in + 1, out, context);
    } else {
      else_->run(in + else_begin_, out, context);
    }
  }

 private:
  std::size_t else_begin_;
  std::unique_ptr<Kernel> then_, else_;
};

// Two sets of buffers hold the values of an iteration. The body reads one set and fills the other.
class WhileKernel final : public Kernel {
 public:
  explicit WhileKernel(const KernelSpec& spec)
      : n_(spec.outputs.size()), limit_(spec.attrs().integer("maximum_iterations")) {
    const GraphBody& condition = body_of(spec, "condition_body");
    const GraphBody& body = body_of(spec, "loop_body");
    const std::size_t body_begin = n_ + condition.captures.size();
    const std::vector<TensorSpec> asked = specs_between(spec.inputs, 0, body_begin);
    std::vector<TensorSpec> taken = spec.outputs;
    for (const TensorSpec& s : specs_between(spec.inputs, body_begin, spec.inputs.size())) taken.push_back(s);
    condition_ = spec.bodies->make(condition, asked, spec);
    body_ = spec.bodies->make(body, taken, spec);
    condition_in_.resize(asked.size());
    body_in_.resize(taken.size());
    for (const TensorSpec& s : spec.outputs) {
      bytes_.push_back(s.bytes());
      for (auto& set : values_) set.emplace_back(s.dtype, s.dims);
    }
  }

  void run(void* const* in, void* const* out, const KernelContext& context) override {
    for (std::size_t i = n_; i < condition_in_.size(); ++i) condition_in_[i] = in[i];
    for (std::size_t i = n_; i < body_in_.size(); ++i) body_in_[i] = in[condition_in_.size() + i - n_];
    for (std::size_t i = 0; i < n_; ++i) copy(values_[0][i].data(), in[i], i);
    std::size_t now = 0;
    for (std::int64_t turn = 0; limit_ < 0 || turn < limit_; ++turn, now = 1 - now) {
      for (std::size_t i = 0; i < n_; ++i) condition_in_[i] = body_in_[i] = values_[now][i].data();
      bool more = false;
      void* answer = &more;
      condition_->run(condition_in_.data(), &answer, context);
      if (!more) break;
      for (std::size_t i = 0; i < n_; ++i) next_[i] = values_[1 - now][i].data();
      body_->run(body_in_.data(), next_.data(), context);
    }
    for (std::size_t i = 0; i < n_; ++i) copy(out[i], values_[now][i].data(), i);
  }

 private:
  void copy(void* to, const void* from, std::size_t i) const {
    if (bytes_[i] != 0) std::memcpy(to, from, bytes_[i]);
  }

  std::size_t n_;
  std::int64_t limit_;
  std::unique_ptr<Kernel> condition_, body_;
  std::vector<std::size_t> bytes_;
  std::vector<DenseTensor> values_[2];
  std::vector<void*> condition_in_, body_in_, next_ = std::vector<void*>(n_);
};

template <class K>
std::unique_ptr<Kernel> make_with_bodies(const KernelSpec& spec) {
  if (spec.bodies == nullptr) fail(Code::kUnimplemented, "bodies run in a session only");
  return std::make_unique<K>(spec);
}

}  // namespace

void add_control_flow_ops(OpRegistry& r) {
  r.add({.name = "BodyInput",
         .doc = "In a body: what comes in from outside, an argument or something that the body uses.",
         .dtypes = "any",
         .attrs = {dtype_attr("dtype", "of the argument"),
                   shape_attr("shape", "of the argument, -1 where a dimension is not known").defaults_to(Dims{}),
                   bool_attr("unknown_rank", "the argument has any shape, whatever `shape` is")},
         .role = Role::kBodyInput,
         .infer = infer_body_input,
         .stops_gradient = true});
  r.add({.name = "Cond",
         .doc = "The outputs of its body `then_body` if the bool scalar is true, else those of `else_body`. Only that "
                "one runs. Both have outputs of the same dtypes and shapes.",
         .inputs = "condition, captures...",
         .dtypes = "any but string",
         .n_inputs = -1,
         .attrs = {string_attr("then_body", "the name of the body that runs where the condition is true"),
                   string_attr("else_body", "the name of the other one")},
         .infer = infer_cond,
         .gradient = no_gradient,
         .kernel = make_with_bodies<CondKernel>,
         .bodies = {"then_body", "else_body"}});
  r.add({.name = "While",
         .doc = "The values after as many runs of its body `loop_body` as its body `condition_body` is true for them "
                "before each; at most `maximum_iterations`. Dtypes and shapes stay.",
         .inputs = "values..., captures...",
         .dtypes = "any but string",
         .n_inputs = -1,
         .attrs = {string_attr("condition_body", "the name of the body that decides whether the loop continues"),
                   string_attr("loop_body", "the name of the body that makes the next values"),
                   int_attr("maximum_iterations", "the most iterations; -1: no limit").defaults_to(-1)},
         .infer = infer_while,
         .gradient = no_gradient,
         .kernel = make_with_bodies<WhileKernel>,
         .bodies = {"condition_body", "loop_body"}});
}

}  // namespace belay::runtime
