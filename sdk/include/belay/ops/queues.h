// SPDX-License-Identifier: Apache-2.0
// Queues between threads of a session. Enqueue waits while the queue is full, dequeue while it is empty. A closed and
// empty queue ends its readers with OUT_OF_RANGE. Inputs have their own queues and do not need this header. Use it for
// a pipeline that the graph itself runs.
//
//   const ops::QueueRef q = ops::fifo_queue(g, 32, {{DType::kFloat32, {784}}, {DType::kInt64, {}}}, "examples");
//   const Output put = ops::enqueue(q, {image, label});                     a thread runs it repeatedly
//   const Output close = ops::queue_close(q);                               the thread runs it at the end
//   const std::vector<Output> batch = ops::dequeue_many(q, 100);            [100, 784] and [100], part of the step
//
// A queue belongs to a session: a recovery makes a new, empty queue, and no checkpoint holds its elements. When the
// session stops, operations that wait in a queue end with an error. No gradient passes.
#pragma once

#include <string_view>
#include <vector>

#include "belay/graph.h"

namespace belay {
inline namespace v0 {
namespace ops {

// One tensor of an element; each element has one for every component.
struct QueueComponent {
  // Any dtype, strings too.
  DType dtype;
  // Dimensions; -1: it differs from element to element.
  Dims dims;
  // False: any shape; dims has no effect then.
  bool known_rank = true;
};

// A queue's node and the description of its elements. Copy it freely.
struct QueueRef {
  Output handle;
  std::vector<QueueComponent> components;
};

namespace detail_queues {
inline NodeBuilder& describe(NodeBuilder& n, const std::vector<QueueComponent>& components) {
  std::vector<DType> dtypes;
  std::vector<std::int64_t> shapes;
  for (const QueueComponent& c : components) {
    dtypes.push_back(c.dtype);
    shapes.push_back(c.known_rank ? static_cast<std::int64_t>(c.dims.size()) : -1);
    if (!c.known_rank) continue;
    for (const std::int64_t dim : c.dims) shapes.push_back(dim);
  }
  return n.attr("dtypes", dtypes).attr("shapes", shapes);
}
inline std::vector<Output> outputs(const QueueRef& q, const Output& first) {
  std::vector<Output> all;
  for (std::uint32_t i = 0; i < q.components.size(); ++i) all.push_back(first.sibling(i));
  return all;
}
}  // namespace detail_queues

// A queue that returns elements in the order of enqueuing. capacity: the largest number of elements, at least 1; memory
// is only used for elements in the queue. INVALID_ARGUMENT in an enqueue: dtype or shape differs from the component's.
inline QueueRef fifo_queue(const Graph& g, std::int64_t capacity, const std::vector<QueueComponent>& components,
                           std::string_view name = {}) {
  NodeBuilder n = g.node("FIFOQueue", name);
  return {detail_queues::describe(n.attr("capacity", capacity), components).output(), components};
}
// A queue whose elements may differ in the dimensions that are -1, for sequences of different lengths. If several
// elements are dequeued together, zeros (strings: empty) pad their ends to the size of the largest.
inline QueueRef padding_fifo_queue(const Graph& g, std::int64_t capacity, const std::vector<QueueComponent>& components,
                                   std::string_view name = {}) {
  NodeBuilder n = g.node("PaddingFIFOQueue", name);
  return {detail_queues::describe(n.attr("capacity", capacity), components).output(), components};
}
// A queue that returns a random element. While it is open, at least min_after_dequeue elements (below the capacity)
// stay for the choice; a closed queue is emptied. The choices depend on the seed, the queue's name, and the elements
// that the filling threads have brought by then. A checkpoint does not hold the elements of a queue. So a training run
// that this queue feeds resumes only approximately.
inline QueueRef random_shuffle_queue(const Graph& g, std::int64_t capacity, std::int64_t min_after_dequeue,
                                     const std::vector<QueueComponent>& components, std::int64_t seed = 0,
                                     std::string_view name = {}) {
  NodeBuilder n = g.node("RandomShuffleQueue", name);
  n.attr("capacity", capacity).attr("min_after_dequeue", min_after_dequeue).attr("seed", seed);
  return {detail_queues::describe(n, components).output(), components};
}
// An operation that adds one element and waits while the queue is full. CANCELLED: the queue is closed.
inline Output enqueue(const QueueRef& q, const std::vector<Output>& components, std::string_view name = {}) {
  NodeBuilder n = q.handle.graph().node("QueueEnqueue", name);
  return detail_queues::describe(n.in(q.handle).in(components), q.components).operation();
}
// Adds the rows of the components, one element each; all components have the same first dimension. Elements enter one
// after the other when there is room. If one of them does not match, none enters.
inline Output enqueue_many(const QueueRef& q, const std::vector<Output>& components, std::string_view name = {}) {
  NodeBuilder n = q.handle.graph().node("QueueEnqueue", name.empty() ? "QueueEnqueueMany" : name);
  return detail_queues::describe(n.in(q.handle).in(components).attr("many", true), q.components).operation();
}
// Adds the element if `keep`, a bool scalar, is true. Otherwise it drops the element and does not wait.
inline Output enqueue_if(const QueueRef& q, const Output& keep, const std::vector<Output>& components,
                         std::string_view name = {}) {
  NodeBuilder n = q.handle.graph().node("QueueEnqueue", name);
  n.in(q.handle).in(components).in(keep).attr("filter", true);
  return detail_queues::describe(n, q.components).operation();
}
// Adds the rows whose `keep`, a bool vector, is true. A bool scalar applies to all rows.
inline Output enqueue_many_if(const QueueRef& q, const Output& keep, const std::vector<Output>& components,
                              std::string_view name = {}) {
  NodeBuilder n = q.handle.graph().node("QueueEnqueue", name.empty() ? "QueueEnqueueMany" : name);
  n.in(q.handle).in(components).in(keep).attr("many", true).attr("filter", true);
  return detail_queues::describe(n, q.components).operation();
}
// Tensors with the same number of rows (their first dimension; any dtype), all in one order. With shuffle the order
// differs for each value of `epoch` (an int64 scalar). It is a function of seed, node name, epoch and number of rows.
// Without shuffle the rows stay in order. Use it before an enqueue_many; belay/runtime/queue_inputs.h has producers
// made of it. INVALID_ARGUMENT in a run without rows: its producer would loop forever.
inline std::vector<Output> epoch_rows(const Output& epoch, const std::vector<Output>& rows, bool shuffle = false,
                                      std::int64_t seed = 0, std::string_view name = {}) {
  NodeBuilder n = epoch.graph().node("EpochRows", name);
  const Output first = n.in(epoch).in(rows).attr("shuffle", shuffle).attr("seed", seed).output();
  std::vector<Output> all;
  for (std::uint32_t i = 0; i < rows.size(); ++i) all.push_back(first.sibling(i));
  return all;
}
// Takes one element, a tensor for each component; waits while the queue is empty. Two fetches of one dequeue node in
// one run take one element; two nodes take two.
inline std::vector<Output> dequeue(const QueueRef& q, std::string_view name = {}) {
  NodeBuilder n = q.handle.graph().node("QueueDequeue", name);
  return detail_queues::outputs(q, detail_queues::describe(n.in(q.handle), q.components).output());
}
// Takes n (at least 1) elements, stacked along a new first dimension. OUT_OF_RANGE: fewer are left at the end; they
// stay in the queue. INVALID_ARGUMENT: elements of different shapes, unless the queue pads.
inline std::vector<Output> dequeue_many(const QueueRef& q, std::int64_t n_elements, std::string_view name = {}) {
  NodeBuilder n = q.handle.graph().node("QueueDequeue", name.empty() ? "QueueDequeueMany" : name);
  return detail_queues::outputs(q,
                                detail_queues::describe(n.in(q.handle).attr("n", n_elements), q.components).output());
}
// Takes at most n elements, stacked. It takes fewer only from a closed queue: those that are left. OUT_OF_RANGE: no
// element is left. The first dimension is unknown while the graph is built. Use it for an evaluation, whose last batch
// may be short.
inline std::vector<Output> dequeue_up_to(const QueueRef& q, std::int64_t n_elements, std::string_view name = {}) {
  NodeBuilder n = q.handle.graph().node("QueueDequeue", name.empty() ? "QueueDequeueUpTo" : name);
  return detail_queues::outputs(
      q, detail_queues::describe(n.in(q.handle).attr("n", n_elements).attr("at_most", true), q.components).output());
}
// An operation after which no enqueue begins. Enqueues that wait still enter, or with cancel_pending_enqueues fail with
// CANCELLED. Elements in the queue can still be dequeued.
inline Output queue_close(const QueueRef& q, bool cancel_pending_enqueues = false, std::string_view name = {}) {
  return q.handle.graph()
      .node("QueueClose", name)
      .in(q.handle)
      .attr("cancel_pending_enqueues", cancel_pending_enqueues)
      .operation();
}
// The number of elements at that moment: an int64 scalar, for a summary. It may have changed when the value is read.
inline Output queue_size(const QueueRef& q, std::string_view name = {}) {
  return q.handle.graph().node("QueueSize", name).in(q.handle).output();
}

}  // namespace ops
}  // namespace v0
}  // namespace belay
