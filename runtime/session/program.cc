// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/program.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "runtime/graph/plugin_op.h"
#include "runtime/ops/kernels/elementwise_chain.h"
#include "runtime/session/body_kernel.h"

namespace belay::runtime {
namespace {

// Copies a fetched value out of the run. The buffer is used again, unless the last value still has another owner.
class CopyToSlot final : public Kernel {
 public:
  CopyToSlot(FetchBuffer& buffer, TensorSpec spec) : buffer_(buffer), spec_(std::move(spec)) {}

  void run(void* const* in, void* const*, const KernelContext&) override {
    DenseTensor& t = buffer_.tensor;
    if (!t || t.shared() || t.dims() != spec_.dims) t = DenseTensor(spec_.dtype, spec_.dims);
    if (spec_.dtype == DType::kString) {
      const auto* texts = static_cast<const belay_str*>(in[0]);
      for (std::int64_t i = 0, n = spec_.elements(); i < n; ++i)
        t.set_text(static_cast<std::size_t>(i), detail::view(texts[i]));
    } else if (spec_.bytes() != 0) {
      std::memcpy(t.data(), in[0], spec_.bytes());
    }
  }

 private:
  FetchBuffer& buffer_;
  TensorSpec spec_;
};

}  // namespace

Program::Program(const NodeGraph& graph, const Plan& plan, std::uint32_t stage, const RunValuesTable& values,
                 std::vector<FetchBuffer>& slots, std::uint64_t seed)
    : plan_(plan), plan_stage_(plan.stages[stage]), stage_(stage) {
  own_index_.assign(plan.values.size(), kNoValue);
  arena_index_.assign(plan.values.size(), kNoValue);
  written_.assign(plan.variables.size(), false);
  for (const PlanStage& other : plan.stages)
    for (const PlanStep& step : other.steps)
      for (const std::uint32_t v : step.written) written_[v] = true;
  infer_dims(graph, values);
  make_kernels(graph, slots, seed, values);
  lay_out_memory();
  fill_pointers();
}

const Dims& Program::dims_of(ValueId v, const RunValuesTable& values) const {
  if (own_index_[v] != kNoValue) return own_dims_[own_index_[v]].second;
  if (values.dims[v] != nullptr) return *values.dims[v];
  // A copy of the planner has the shape of its original.
  const ValueId original = plan_.value_of(plan_.values[v].port);
  if (original != v && original != kNoValue) return dims_of(original, values);
  fail(Code::kInternal, fmt::format("the dims of value {} are not known in stage {}", v, stage_));
}

TensorSpec Program::spec_of(ValueId v, const RunValuesTable& values) const {
  TensorSpec spec{plan_.values[v].dtype, dims_of(v, values)};
  const PlanValue& root = plan_.values[plan_.values[v].root];
  const bool changes = root.source == ValueSource::kVariable && written_[root.index];
  if (!changes) spec.version = values.versions[plan_.values[v].root];
  return spec;
}

void Program::infer_dims(const NodeGraph& graph, const RunValuesTable& values) {
  for (const Node* n : plan_stage_.shapes) {
    std::vector<DType> dtypes;
    std::vector<Shape> shapes;
    for (const Port& in : n->inputs) {
      dtypes.push_back(graph.spec(in).first);
      const ValueId v = plan_.value_of(in);
      shapes.push_back(v == kNoValue ? graph.spec(in).second : Shape(dims_of(v, values)));
    }
    InferContext infer(*n->op, n->name, n->attrs, std::move(dtypes), std::move(shapes), &graph);
    n->op->infer(infer);
    if (n->op->plugin != nullptr) n->op->plugin->check_outputs(*n, infer.outputs());
    for (std::uint32_t i = 0; i < infer.outputs().size(); ++i) {
      const ValueId v = plan_.value_of({n->id, i});
      const Shape& shape = infer.outputs()[i].second;
      if (v == kNoValue) continue;
      if (!shape.fully_known())
        fail(Code::kInvalidArgument,
             fmt::format("[B5076] node '{}' ({}): the shape {} of output {} is still not known when it runs", n->name,
                         n->op->name, shape.text(), i));
      own_index_[v] = static_cast<std::uint32_t>(own_dims_.size());
      own_dims_.emplace_back(v, shape.dims());
    }
  }
  // The remaining ones are copies of the planner.
  for (const PlanStep& step : plan_stage_.steps)
    for (const ValueId v : step.outputs) {
      if (own_index_[v] != kNoValue) continue;
      Dims dims = dims_of(v, values);
      own_index_[v] = static_cast<std::uint32_t>(own_dims_.size());
      own_dims_.emplace_back(v, std::move(dims));
    }
}

void Program::make_kernels(const NodeGraph& graph, std::vector<FetchBuffer>& slots, std::uint64_t seed,
                           const RunValuesTable& values) {
  const GraphBodies bodies(graph);
  const std::size_t words = (plan_.slots.size() + 63) / 64;
  for (std::uint32_t s = 0; s < plan_stage_.steps.size(); ++s) {
    const PlanStep& step = plan_stage_.steps[s];
    if (step.slot != kNoValue) {
      kernels_.push_back(std::make_unique<CopyToSlot>(slots[step.slot], spec_of(step.inputs[0], values)));
    } else {
      KernelSpec spec{.node = *step.node,
                      .inputs = {},
                      .outputs = {},
                      .threads = plan_.key.threads,
                      .seed = seed,
                      .members = step.members,
                      .bodies = &bodies,
                      .precision = plan_.key.precision};
      for (const ValueId v : step.inputs) spec.inputs.push_back(spec_of(v, values));
      for (const ValueId v : step.outputs) spec.outputs.push_back(spec_of(v, values));
      try {
        kernels_.push_back(step.operands.empty() ? step.kernel(spec) : make_elementwise_chain(spec, step.operands));
      } catch (const Error& e) {
        fail(e.code(), "node '" + step.node->name + "' (" + step.node->op->name + "): " + e.what());
      }
    }
    Op op{.kernel = kernels_.back().get(), .in = 0, .out = 0, .mask = kNoValue, .step = s};
    if (!step.condition.always) {
      op.mask = static_cast<std::uint32_t>(masks_.size());
      masks_.resize(masks_.size() + words, 0);
      for (const std::uint32_t slot : step.condition.slots)
        masks_[op.mask + slot / 64] |= std::uint64_t{1} << (slot % 64);
    }
    if (step.writes) writers_.push_back(s);
    ops_.push_back(op);
  }
}

void Program::lay_out_memory() {
  std::vector<Lifetime> lives;
  std::vector<std::uint32_t> life_of(plan_.values.size(), kNoValue);  // by root value of this stage
  const auto end = static_cast<std::uint32_t>(ops_.size());
  std::vector<std::uint32_t> last_use(plan_.values.size(), 0);
  for (std::uint32_t s = 0; s < plan_stage_.steps.size(); ++s) {
    const PlanStep& step = plan_stage_.steps[s];
    for (std::size_t i = 0; i < step.inputs.size(); ++i)
      if (!(i < 32 && ((step.shape_inputs >> i) & 1) != 0)) last_use[plan_.values[step.inputs[i]].root] = s;
    for (const ValueId v : step.outputs) last_use[v] = std::max(last_use[v], s);
  }
  for (std::uint32_t s = 0; s < plan_stage_.steps.size(); ++s) {
    const PlanStep& step = plan_stage_.steps[s];
    for (std::size_t o = 0; o < step.outputs.size(); ++o) {
      const ValueId v = step.outputs[o];
      const PlanValue& value = plan_.values[v];
      const std::uint32_t dies = value.exported ? end : last_use[v];
      const std::size_t bytes =
          static_cast<std::size_t>(count_of(own_dims_[own_index_[v]].second)) * dtype_size(value.dtype);
      std::uint32_t shared = kNoValue;
      for (std::size_t i = 0; o == 0 && i < step.inputs.size() && i < 32 && shared == kNoValue; ++i) {
        if (((step.in_place >> i) & 1) == 0) continue;
        const ValueId root = plan_.values[step.inputs[i]].root;
        if (life_of[root] != kNoValue && last_use[root] == s && !plan_.values[root].exported &&
            lives[life_of[root]].bytes == bytes)
          shared = life_of[root];
      }
      if (shared == kNoValue) {
        shared = static_cast<std::uint32_t>(lives.size());
        lives.push_back({s, dies, bytes});
      } else {
        lives[shared].last = std::max(lives[shared].last, dies);
      }
      life_of[v] = shared;
      arena_index_[v] = static_cast<std::uint32_t>(arena_values_.size());
      arena_values_.push_back(v);
    }
  }
  layout_ = lay_out(lives);
  // The offsets by lives become offsets by values.
  std::vector<std::size_t> offsets;
  for (const ValueId v : arena_values_) offsets.push_back(layout_.offsets[life_of[v]]);
  layout_.offsets = std::move(offsets);
}

void Program::fill_pointers() {
  std::vector<std::uint32_t> external_of(plan_.values.size(), kNoValue);
  const auto point = [&](ValueId v) {
    const auto at = static_cast<std::uint32_t>(pointers_.size());
    pointers_.push_back(nullptr);
    const ValueId root = plan_.values[v].root;
    if (arena_index_[root] != kNoValue) {
      arena_pointers_.push_back({at, arena_index_[root]});
      return;
    }
    if (external_of[root] == kNoValue) {
      external_of[root] = static_cast<std::uint32_t>(externals_.size());
      externals_.push_back({.value = root, .at = {}});
    }
    externals_[external_of[root]].at.push_back(at);
  };
  for (Op& op : ops_) {
    const PlanStep& step = plan_stage_.steps[op.step];
    op.in = static_cast<std::uint32_t>(pointers_.size());
    for (std::size_t i = 0; i < step.inputs.size(); ++i) {
      if (i < 32 && ((step.shape_inputs >> i) & 1) != 0) {
        pointers_.push_back(nullptr);
      } else {
        point(step.inputs[i]);
      }
    }
    op.out = static_cast<std::uint32_t>(pointers_.size());
    for (const ValueId v : step.outputs) point(v);
  }
}

bool Program::bind(std::byte* arena, const RunValuesTable& values) {
  const bool moved = arena != bound_arena_;
  if (moved) {
    for (const ArenaPointer& p : arena_pointers_) pointers_[p.at] = arena + layout_.offsets[p.value];
    bound_arena_ = arena;
  }
  for (External& e : externals_) {
    void* data = values.data[e.value];
    if (data == e.bound) continue;
    for (const std::uint32_t at : e.at) pointers_[at] = data;
    e.bound = data;
  }
  return moved;
}

void Program::publish(RunValuesTable& values) const {
  for (std::size_t i = 0; i < arena_values_.size(); ++i)
    if (plan_.values[arena_values_[i]].exported) values.data[arena_values_[i]] = bound_arena_ + layout_.offsets[i];
  for (const auto& [v, dims] : own_dims_) values.dims[v] = &dims;
}

void Program::fail_in(std::size_t op, const Error& error) const {
  const Node& n = *plan_stage_.steps[ops_[op].step].node;
  fail(error.code(), "node '" + n.name + "' (" + n.op->name + "): " + error.what());
}

void Program::check_writes(const SlotMask& mask, const KernelContext& context) {
  std::size_t at = 0;
  try {
    for (const std::uint32_t i : writers_) {
      at = i;
      if (active(ops_[i], mask)) ops_[i].kernel->check(pointers_.data() + ops_[i].in, context);
    }
  } catch (const Error& e) {
    fail_in(at, e);
  }
}

void Program::run(const SlotMask& mask, const KernelContext& context) {
  std::size_t at = 0;
  void** const pointers = pointers_.data();
  try {
    for (; at < ops_.size(); ++at) {
      const Op& op = ops_[at];
      if (active(op, mask)) op.kernel->run(pointers + op.in, pointers + op.out, context);
    }
  } catch (const Error& e) {
    fail_in(at, e);
  }
}

void Program::run_traced(const SlotMask& mask, const KernelContext& context, Clock& clock,
                         std::vector<TracedNode>& stats) {
  std::size_t at = 0;
  try {
    for (; at < ops_.size(); ++at) {
      const Op& op = ops_[at];
      if (!active(op, mask)) continue;
      const PlanStep& step = plan_stage_.steps[op.step];
      const std::int64_t start = clock.monotonic_ns();
      op.kernel->run(pointers_.data() + op.in, pointers_.data() + op.out, context);
      if (step.slot != kNoValue) continue;
      std::size_t bytes = 0;
      for (const ValueId v : step.outputs)
        if (arena_index_[v] != kNoValue)
          bytes +=
              static_cast<std::size_t>(count_of(own_dims_[own_index_[v]].second)) * dtype_size(plan_.values[v].dtype);
      const bool fused = step.members.size() > 1;
      stats.push_back({step.node->name, fused ? "Fused" + step.node->op->name : step.node->op->name, start,
                       clock.monotonic_ns(), bytes, step.node->id});
    }
  } catch (const Error& e) {
    fail_in(at, e);
  }
}

}  // namespace belay::runtime
