// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/simplify.h"

#include <bit>
#include <cstdint>
#include <cstring>
#include <functional>

#include "runtime/graph/kernel.h"
#include "runtime/ops/kernels/parallel.h"
#include "runtime/platform/threads/floating_point.h"

namespace belay::runtime {
namespace {

constexpr std::size_t kFoldedBytes = 1 << 16;  // limit of folded constants
constexpr std::size_t kComparedBytes = 256;    // limit of the tensors compared by their elements
constexpr std::size_t kSameHash = 8;           // limit of the compared nodes of one hash

bool same_bits(double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); }

bool same_tensor(const DenseTensor& a, const DenseTensor& b) {
  if (!a || !b) return !a && !b;
  if (a.dtype() != b.dtype() || a.dims() != b.dims()) return false;
  if (a.data() == b.data()) return true;
  return a.dtype() != DType::kString && a.bytes() <= kComparedBytes && std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

bool same_value(const AttrValue& a, const AttrValue& b) {
  if (a.index() != b.index()) return false;
  if (const auto* d = std::get_if<double>(&a)) return same_bits(*d, std::get<double>(b));
  if (const auto* t = std::get_if<DenseTensor>(&a)) return same_tensor(*t, std::get<DenseTensor>(b));
  if (const auto* i = std::get_if<std::int64_t>(&a)) return *i == std::get<std::int64_t>(b);
  if (const auto* s = std::get_if<std::string>(&a)) return *s == std::get<std::string>(b);
  if (const auto* l = std::get_if<std::vector<std::int64_t>>(&a)) return *l == std::get<std::vector<std::int64_t>>(b);
  if (const auto* l = std::get_if<std::vector<std::string>>(&a)) return *l == std::get<std::vector<std::string>>(b);
  const auto &x = std::get<std::vector<double>>(a), &y = std::get<std::vector<double>>(b);
  return x.size() == y.size() && std::equal(x.begin(), x.end(), y.begin(), same_bits);
}

class Simplifier {
 public:
  explicit Simplifier(const SimplifyView& view) : view_(view), graph_(view.graph) {
    const std::size_t n = graph_.size();
    out_.twin.resize(n);
    for (std::uint32_t id = 0; id < n; ++id) out_.twin[id] = id;
    followed_.assign(n, false);
    for (std::uint32_t id = 0; id < n; ++id)
      for (const std::uint32_t c : graph_.node(id).control_inputs) followed_[c] = true;
    for (const Port& f : view.key.feeds) followed_[f.node] = true;
  }

  Simplified run() {
    for (std::uint32_t id = 0; id < graph_.size(); ++id) {
      const Node& n = graph_.node(id);
      if (!view_.planned[id] || followed_[id] || !may_go(n)) continue;
      if (n.op->role == Role::kConstant) {
        if (n.attrs.tensor("value").bytes() <= kComparedBytes) find_twin(n);
      } else if (!fold(n) && view_.in_base[id]) {
        find_twin(n);
      }
    }
    return std::move(out_);
  }

 private:
  bool may_go(const Node& n) const {
    return n.op->effect == Effect::kNone && !is_host(n) && n.control_inputs.empty() && !view_.ordered[n.id] &&
           n.op->bodies.empty() && n.op->role != Role::kPlaceholder && n.op->role != Role::kBodyInput &&
           !n.op->dynamic_shape;
  }

  // ---- folding

  const DenseTensor* constant(Port port) const {
    if (view_.feeds.fed(port)) return nullptr;
    port = out_.of(port);
    const Node& n = graph_.node(port.node);
    if (n.op->role == Role::kConstant) return &n.attrs.tensor("value");
    const auto it = out_.folded.find(port.node);
    return it == out_.folded.end() ? nullptr : &it->second;
  }

  bool fold(const Node& n) {
    if (n.outputs.size() != 1 || n.op->plugin != nullptr || n.outputs[0].first == DType::kString) return false;
    if (n.op->kernel == nullptr && !n.op->alias) return false;
    KernelSpec spec{
        .node = n, .inputs = {}, .outputs = {}, .threads = view_.key.threads, .precision = view_.key.precision};
    std::vector<DType> dtypes;
    std::vector<Shape> shapes;
    std::vector<void*> in;
    for (std::size_t i = 0; i < n.inputs.size(); ++i) {
      const DenseTensor* value = constant(n.inputs[i]);
      const auto& [dtype, shape] = graph_.spec(n.inputs[i]);
      const bool known = is_shape_only(n, i) && shape.fully_known();
      if (!known && (value == nullptr || dtype == DType::kString || value->bytes() > kFoldedBytes)) return false;
      dtypes.push_back(dtype);
      shapes.push_back(value != nullptr ? Shape(value->dims()) : shape);
      spec.inputs.push_back({dtype, shapes.back().dims()});
      in.push_back(value != nullptr ? value->data() : nullptr);
    }
    InferContext infer(*n.op, n.name, n.attrs, std::move(dtypes), std::move(shapes), &graph_);
    try {
      n.op->infer(infer);
      const auto& [dtype, shape] = infer.outputs()[0];
      if (!shape.fully_known()) return false;
      spec.outputs.push_back({dtype, shape.dims()});
      if (spec.outputs[0].bytes() > kFoldedBytes) return false;
      out_.folded.emplace(n.id, compute(spec, in));
    } catch (const Error&) {
      return false;  // the run reports it, with the step's place
    }
    return true;
  }

  DenseTensor compute(const KernelSpec& spec, const std::vector<void*>& in) const {
    DenseTensor result(spec.outputs[0].dtype, spec.outputs[0].dims);
    if (spec.node.op->alias) {
      if (result.bytes() != 0) std::memcpy(result.data(), in[0], result.bytes());
      return result;
    }
    const Team team(spec.threads);
    const KernelMode mode;
    void* const out[] = {result.data()};
    spec.node.op->kernel(spec)->run(in.data(), out, KernelContext{});
    return result;
  }

  // ---- twins

  void find_twin(const Node& n) {
    if (n.op->alias) {  // its memory may have another owner: only if a step owns it
      const Node& source = graph_.node(n.inputs[0].node);
      if (source.op->effect == Effect::kVariable || source.op->alias) return;
    }
    std::vector<std::uint32_t>& alike = by_hash_[hash(n)];
    for (const std::uint32_t id : alike)
      if (same(graph_.node(id), n)) {
        out_.twin[n.id] = id;
        return;
      }
    if (alike.size() < kSameHash) alike.push_back(n.id);
  }

  std::size_t hash(const Node& n) const {
    std::size_t h = std::hash<const void*>()(n.op);
    const auto add = [&](std::size_t x) { h = (h ^ x) * 0x9e3779b97f4a7c15u; };
    for (const Port& in : n.inputs) add(port_key(out_.of(in)));
    for (const auto& [name, value] : n.attrs.all()) {
      if (const auto* i = std::get_if<std::int64_t>(&value)) add(static_cast<std::size_t>(*i));
      if (const auto* t = std::get_if<DenseTensor>(&value); t != nullptr && *t && t->dtype() != DType::kString)
        add(std::hash<std::string_view>()({static_cast<const char*>(t->data()), std::min(t->bytes(), kComparedBytes)}));
    }
    return h;
  }

  bool same(const Node& a, const Node& b) const {
    if (a.op != b.op || a.body != b.body || a.inputs.size() != b.inputs.size() || a.outputs.size() != b.outputs.size())
      return false;
    for (std::size_t i = 0; i < a.inputs.size(); ++i)
      if (!(out_.of(a.inputs[i]) == out_.of(b.inputs[i]))) return false;
    return same_attrs(a.attrs, b.attrs);
  }

  const SimplifyView& view_;
  const NodeGraph& graph_;
  Simplified out_;
  std::vector<bool> followed_;  // a control edge follows it, or it is fed
  std::unordered_map<std::size_t, std::vector<std::uint32_t>> by_hash_;
};

}  // namespace

bool same_attrs(const Attrs& a, const Attrs& b) {
  if (a.all().size() != b.all().size()) return false;
  for (const auto& [name, value] : a.all()) {
    const AttrValue* other = b.given(name);
    if (other == nullptr || !same_value(value, *other)) return false;
  }
  return true;
}

Simplified simplify(const SimplifyView& view) { return Simplifier(view).run(); }

}  // namespace belay::runtime
