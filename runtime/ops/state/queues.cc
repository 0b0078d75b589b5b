// SPDX-License-Identifier: Apache-2.0
// Queues: a node for each, and operations that fill, empty and close it. These may wait, so they run between the stages
// of a plan, never under the store's gate.
#include "belay/ops/queues.h"

#include <fmt/core.h>

#include <cstring>
#include <utility>
#include <vector>

#include "belay/permutation.h"
#include "runtime/graph/host_kernel.h"
#include "runtime/graph/kernel.h"
#include "runtime/graph/queue.h"
#include "runtime/graph/step_ranks.h"
#include "runtime/ops/registry.h"
#include "runtime/ops/state/host_ops.h"

namespace belay::runtime {
namespace {

// Returns one shape for each of `dtypes`.
std::vector<Shape> component_shapes(const InferContext& c) {
  const std::size_t n = c.attrs().integers("dtypes").size();
  if (n == 0) c.fail("attribute 'dtypes' must name at least one component");
  const std::vector<std::int64_t> flat = c.attrs().integers("shapes");
  const std::optional<std::vector<Shape>> shapes = shapes_of_components(flat);
  if (!shapes)
    c.fail("attribute 'shapes' must be the rank of each component, -1 or followed by as many dimensions, got " +
           dims_text(flat));
  if (shapes->size() != n)
    c.fail(fmt::format("attributes 'dtypes' and 'shapes' must have one entry per component, got {} and {}", n,
                       shapes->size()));
  return *shapes;
}

void infer_queue(InferContext& c) {
  component_shapes(c);
  c.output(DType::kInt64, Shape{});
}
void infer_shuffle_queue(InferContext& c) {
  const std::int64_t stay = c.attrs().integer("min_after_dequeue");
  if (stay < 0 || stay >= c.attrs().integer("capacity"))
    c.fail("attribute 'min_after_dequeue' must be >= 0 and less than the capacity");
  infer_queue(c);
}

// Checks an enqueue's input that selects the elements to keep: one value for all, or one for each.
void need_keep(const InferContext& c, std::size_t i, bool many) {
  c.need_dtype(i, DType::kBool);
  if (c.shape(i).has_rank() && (c.shape(i).rank() == 0 || (many && c.shape(i).rank() == 1))) return;
  c.fail(c.input_text(i) + " decides what to keep; it must be a scalar" +
         (many ? " or a vector, one for each row" : "; a vector goes with enqueue_many"));
}
void infer_enqueue(InferContext& c) {
  const std::vector<std::int64_t> dtypes = c.attrs().integers("dtypes");
  const std::vector<Shape> shapes = component_shapes(c);
  const bool filter = c.attrs().flag("filter");
  if (c.n_inputs() != dtypes.size() + (filter ? 2 : 1))
    c.fail(fmt::format("expected the queue and its {} components{}, got {} inputs", dtypes.size(),
                       filter ? " and what to keep" : "", c.n_inputs()));
  const bool many = c.attrs().flag("many");
  if (filter) need_keep(c, dtypes.size() + 1, many);
  for (std::size_t i = 0; i < dtypes.size(); ++i) {
    c.need_dtype(i + 1, static_cast<DType>(dtypes[i]));
    Shape element = c.shape(i + 1);
    if (many && element.has_rank()) {
      if (element.rank() == 0) c.fail(c.input_text(i + 1) + " needs a first dimension to take elements from");
      element = Shape(Dims(element.dims().begin() + 1, element.dims().end()));
    }
    if (!Shape::compatible(element, shapes[i]))
      c.fail(c.input_text(i + 1) + " does not fit the queue's component of shape " + shapes[i].text());
  }
}

void infer_dequeue(InferContext& c) {
  const std::vector<std::int64_t> dtypes = c.attrs().integers("dtypes");
  const std::vector<Shape> shapes = component_shapes(c);
  const bool many = c.attrs().has("n");
  const std::int64_t n = many ? c.attrs().integer("n") : 1;
  for (std::size_t i = 0; i < dtypes.size(); ++i) {
    Shape shape = shapes[i];
    if (many && shape.has_rank()) {
      Dims dims = shape.dims();
      dims.insert(dims.begin(), c.attrs().flag("at_most") ? -1 : n);
      shape = Shape(std::move(dims));
    }
    c.output(static_cast<DType>(dtypes[i]), std::move(shape));
  }
}

void infer_close(InferContext&) {}

void infer_epoch_rows(InferContext& c) {
  if (c.n_inputs() < 2) c.fail("expected the epoch and at least one tensor of rows");
  c.need_dtype(0, DType::kInt64);
  c.need_scalar(0);
  for (std::size_t i = 1; i < c.n_inputs(); ++i) {
    if (c.shape(i).has_rank() && c.shape(i).rank() == 0)
      c.fail(c.input_text(i) + " needs a first dimension to take rows from");
    c.output(c.dtype(i), c.shape(i));
  }
}
class EnqueueKernel final : public HostKernel {
 public:
  explicit EnqueueKernel(const KernelSpec& spec)
      : filter_(spec.attrs().flag("filter")),
        components_(spec.node.inputs.size() - (filter_ ? 2 : 1)),
        many_(spec.attrs().flag("many")) {}
  void run(HostContext& c) override {
    if (filter_ && c.input(components_ + 1).rank() == 0 && !c.input(components_ + 1).scalar<bool>()) return;
    QueueElement element;
    for (std::size_t i = 0; i < components_; ++i) element.components.push_back(c.owned_input(i + 1));
    if (!many_) {
      c.queue(0).enqueue(std::move(element), c.cancel());
      return;
    }
    const std::int64_t n = rows(element.components[0]);
    for (const DenseTensor& t : element.components)
      if (rows(t) != n)
        fail(Code::kInvalidArgument,
             fmt::format("the components bring {} and {} elements; they must be equal", n, rows(t)));
    const bool* keep = kept(c, n);
    std::vector<QueueElement> elements;
    for (std::int64_t i = 0; i < n; ++i) {
      if (keep != nullptr && !keep[i]) continue;
      elements.emplace_back();
      for (const DenseTensor& t : element.components) elements.back().components.push_back(row(t, i));
    }
    c.queue(0).enqueue_many(std::move(elements), c.cancel());
  }

 private:
  // Returns a flag for each of n rows; null: all are kept.
  const bool* kept(HostContext& c, std::int64_t n) const {
    if (!filter_ || c.input(components_ + 1).rank() == 0) return nullptr;
    const TensorView keep = c.input(components_ + 1);
    if (keep.dims()[0] != n)
      fail(Code::kInvalidArgument,
           fmt::format("what to keep has {} elements, the components bring {}; they must be equal", keep.dims()[0], n));
    return keep.data<const bool>();
  }
  static std::int64_t rows(const DenseTensor& t) {
    if (t.dims().empty())
      fail(Code::kInvalidArgument, "a scalar component has no first dimension to take elements from");
    return t.dims()[0];
  }
  static DenseTensor row(const DenseTensor& t, std::int64_t i) { return DenseTensor(TensorView(t.view()).row(i)); }
  bool filter_;
  std::size_t components_;
  bool many_;
};

class DequeueKernel final : public HostKernel {
 public:
  explicit DequeueKernel(const KernelSpec& spec)
      : components_(spec.node.outputs.size()),
        n_(spec.attrs().has("n") ? spec.attrs().integer("n") : 0),
        at_most_(spec.attrs().flag("at_most")) {}
  void run(HostContext& c) override {
    if (!looked_) find_ranks(c);
    QueueElement element = n_ == 0 ? c.queue(0).dequeue(c.cancel()) : c.queue(0).dequeue_many(n_, at_most_, c.cancel());
    if (element.components.size() != components_)
      fail(Code::kInvalidArgument,
           fmt::format("the queue's elements have {} components, expected {}", element.components.size(), components_));
    if (element.input != nullptr) c.took(element.input, element.position);
    if (ranks_ != nullptr)
      for (const auto& [input, position] : ranks_->others_took()) c.took(input, position);
    for (std::size_t i = 0; i < components_; ++i) c.output(i, std::move(element.components[i]));
    c.queue(0).recycle(std::move(element));
  }

 private:
  void find_ranks(HostContext& c) {
    looked_ = true;
    if (auto* queue = dynamic_cast<QueueOfRanks*>(&c.queue(0))) ranks_ = &queue->ranks();
  }

  std::size_t components_;
  std::int64_t n_;
  bool at_most_;
  bool looked_ = false;
  StepRanks* ranks_ = nullptr;  // null: a queue of this process alone
};

class CloseKernel final : public HostKernel {
 public:
  explicit CloseKernel(const KernelSpec& spec) : cancel_pending_(spec.attrs().flag("cancel_pending_enqueues")) {}
  void run(HostContext& c) override { c.queue(0).close(cancel_pending_); }

 private:
  bool cancel_pending_;
};

class EpochRowsKernel final : public HostKernel {
 public:
  explicit EpochRowsKernel(const KernelSpec& spec)
      : tensors_(spec.node.outputs.size()),
        shuffle_(spec.attrs().flag("shuffle")),
        key_(mix_key(static_cast<std::uint64_t>(spec.attrs().integer("seed")), stream_id(spec.node.name))) {}
  void run(HostContext& c) override {
    const std::int64_t n = c.input(1).dims()[0];
    if (n == 0) fail(Code::kInvalidArgument, "there are no rows: an epoch of none would be begun again for ever");
    for (std::size_t i = 2; i <= tensors_; ++i)
      if (c.input(i).dims()[0] != n)
        fail(Code::kInvalidArgument,
             fmt::format("the tensors have {} and {} rows; they must be equal", n, c.input(i).dims()[0]));
    if (shuffle_) use_epoch(n, c.input(0).scalar<std::int64_t>());
    for (std::size_t i = 0; i < tensors_; ++i)
      c.output(i, shuffle_ ? in_order(c.input(i + 1), n) : c.owned_input(i + 1));
  }

 private:
  void use_epoch(std::int64_t n, std::int64_t epoch) {
    if (order_.size() != n) order_ = Permutation(key_, n);
    order_.use_epoch(epoch);
  }
  DenseTensor in_order(const TensorView& rows, std::int64_t n) const {
    const TensorView first = rows.row(0);
    DenseTensor out(rows.dtype(), rows.dims());
    const auto elements = static_cast<std::int64_t>(first.size());
    for (std::int64_t i = 0; i < n; ++i) {
      const TensorView row = rows.row(order_[i]);
      if (rows.dtype() == DType::kString) {
        for (std::int64_t e = 0; e < elements; ++e)
          out.set_text(static_cast<std::size_t>(i * elements + e), detail::view(row.data<const belay_str>()[e]));
      } else if (row.bytes() != 0) {
        std::memcpy(out.data<std::byte>() + static_cast<std::size_t>(i) * row.bytes(), row.data(), row.bytes());
      }
    }
    return out;
  }

  std::size_t tensors_;
  bool shuffle_;
  std::uint64_t key_;
  Permutation order_;
};

// ---- attributes

AttrDef dtypes_of_components() { return dtypes_attr("dtypes", "of the components of an element"); }
AttrDef shapes_of_them() {
  return ints_attr("shapes", "the rank of each component, -1: unknown, each followed by as many dimensions");
}
std::vector<AttrDef> queue_attrs() {
  return {int_attr("capacity", "the most elements").at_least(1), dtypes_of_components(), shapes_of_them()};
}
std::vector<AttrDef> shuffle_queue_attrs() {
  std::vector<AttrDef> attrs = queue_attrs();
  attrs.push_back(int_attr("min_after_dequeue", "stay while the queue is open").defaults_to(0));
  attrs.push_back(int_attr("seed", "of the choices").defaults_to(0));
  return attrs;
}

void add_queue(OpRegistry& r, const char* name, const char* doc, std::vector<AttrDef> attrs = queue_attrs(),
               void (*infer)(InferContext&) = infer_queue) {
  r.add({.name = name,
         .doc = doc,
         .dtypes = "any",
         .attrs = std::move(attrs),
         .role = Role::kQueue,
         .infer = infer,
         .stops_gradient = true});
}

}  // namespace

void add_queue_ops(OpRegistry& r) {
  add_queue(r, "FIFOQueue", "A queue whose elements come out in the order of their coming in.");
  add_queue(r, "PaddingFIFOQueue", "A queue whose elements, dequeued together, are padded with zeros to one shape.");
  add_queue(r, "RandomShuffleQueue",
            "A queue with its elements in random order; while it is open, it keeps `min_after_dequeue` of them.",
            shuffle_queue_attrs(), infer_shuffle_queue);
  r.add({.name = "QueueEnqueue",
         .doc = "Puts one element into a queue, or with `many` the rows of its inputs; waits while it is full.",
         .inputs = "queue, components...",
         .dtypes = "any",
         .n_inputs = -1,
         .attrs = {dtypes_of_components(), shapes_of_them(),
                   bool_attr("many", "the components' rows are elements, put in one by one"),
                   bool_attr("filter",
                             "the last input selects the elements that come in: one bool, or one for each row")},
         .effect = Effect::kBlocking,
         .ref_inputs = 1,
         .infer = infer_enqueue,
         .stops_gradient = true,
         .host_kernel = make_host<EnqueueKernel>});
  r.add(
      {.name = "QueueDequeue",
       .doc = "Takes one element, or `n` stacked; waits while there is none.",
       .inputs = "queue",
       .dtypes = "any",
       .n_inputs = 1,
       .attrs = {dtypes_of_components(), shapes_of_them(),
                 int_attr("n", "how many elements become one tensor with a new first dimension").at_least(1).optional(),
                 bool_attr("at_most", "fewer at the end, instead of an error")},
       .effect = Effect::kBlocking,
       .ref_inputs = 1,
       .dynamic_shape = true,
       .infer = infer_dequeue,
       .stops_gradient = true,
       .host_kernel = make_host<DequeueKernel>});
  r.add({.name = "QueueClose",
         .doc = "No enqueue begins any more; those that wait still come in, or with `cancel_pending_enqueues` fail.",
         .inputs = "queue",
         .dtypes = "any",
         .n_inputs = 1,
         .attrs = {bool_attr("cancel_pending_enqueues", "what waits in an enqueue fails")},
         .effect = Effect::kState,
         .ref_inputs = 1,
         .infer = infer_close,
         .stops_gradient = true,
         .host_kernel = make_host<CloseKernel>});
  r.add({.name = "EpochRows",
         .doc = "Rows of tensors, all in one order; with `shuffle` another one for each epoch.",
         .inputs = "epoch, rows...",
         .dtypes = "any",
         .n_inputs = -1,
         .attrs = {bool_attr("shuffle", "in random order"), int_attr("seed", "of the order").defaults_to(0)},
         .effect = Effect::kState,
         .dynamic_shape = true,
         .infer = infer_epoch_rows,
         .stops_gradient = true,
         .host_kernel = make_host<EpochRowsKernel>});
  r.add(size_op<&HostContext::queue>("QueueSize", "How many elements a queue holds.", "queue", Effect::kState));
}

}  // namespace belay::runtime
