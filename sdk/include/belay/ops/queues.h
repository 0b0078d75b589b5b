// SPDX-License-Identifier: Apache-2.0
// Queues between threads of a session. Enqueue waits while the queue is full, dequeue while it is empty; a closed and
// empty one ends its readers with OUT_OF_RANGE. Inputs have theirs without this header; use it for a pipeline that the
// graph itself runs.
//
//   const ops::QueueRef q = ops::fifo_queue(g, 32, {{DType::kFloat32, {784}}, {DType::kInt64, {}}}, "examples");
//   const Output put = ops::enqueue(q, {image, label});                     run by a thread, again and again
//   const Output close = ops::queue_close(q);                               run by it at the end
//   const std::vector<Output> batch = ops::dequeue_many(q, 100);            [100, 784] and [100], part of the step
//
// A queue belongs to a session: a recovery makes a new, empty one, and no checkpoint holds its elements. When the
// session stops, what still waits in a queue ends with an error. No gradient passes.
#pragma once

#include <string_view>
#include <vector>

#include "belay/graph.h"

namespace belay {
inline namespace v0 {
namespace ops {

// One tensor of an element: each element has one of every component.
struct QueueComponent {
  // Strings too.
  DType dtype;
  // -1: differs from element to element.
  Dims dims;
  // False: any shape; dims do not count then.
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

// In the order of enqueuing. capacity: at most so many elements, at least 1; in memory only those that are there.
// Elements have the components' dtypes and shapes, else the enqueue is INVALID_ARGUMENT.
inline QueueRef fifo_queue(const Graph& g, std::int64_t capacity, const std::vector<QueueComponent>& components,
                           std::string_view name = {}) {
  NodeBuilder n = g.node("FIFOQueue", name);
  return {detail_queues::describe(n.attr("capacity", capacity), components).output(), components};
}
// Elements may differ in the dimensions that are -1; dequeued together they are padded at their ends with zeros
// (strings: empty) to the largest among them. For sequences of different lengths.
inline QueueRef padding_fifo_queue(const Graph& g, std::int64_t capacity, const std::vector<QueueComponent>& components,
                                   std::string_view name = {}) {
  NodeBuilder n = g.node("PaddingFIFOQueue", name);
  return {detail_queues::describe(n.attr("capacity", capacity), components).output(), components};
}
// Returns a random one of its elements; while it is open at least min_after_dequeue (below the capacity) stay, so that
// there are some to choose from; closed, it is emptied. The choices depend on the seed and the queue's name, and on
// what the filling threads had brought by then: so a training run that is fed by one resumes only approximately, for a
// checkpoint does not hold what is in a queue.
inline QueueRef random_shuffle_queue(const Graph& g, std::int64_t capacity, std::int64_t min_after_dequeue,
                                     const std::vector<QueueComponent>& components, std::int64_t seed = 0,
                                     std::string_view name = {}) {
  NodeBuilder n = g.node("RandomShuffleQueue", name);
  n.attr("capacity", capacity).attr("min_after_dequeue", min_after_dequeue).attr("seed", seed);
  return {detail_queues::describe(n, components).output(), components};
}
// An operation that puts one element in, waiting while the queue is full. Into a closed queue: CANCELLED.
inline Output enqueue(const QueueRef& q, const std::vector<Output>& components, std::string_view name = {}) {
  NodeBuilder n = q.handle.graph().node("QueueEnqueue", name);
  return detail_queues::describe(n.in(q.handle).in(components), q.components).operation();
}
// The rows of the components, one element each: all have the same first dimension. They come in one after the other as
// there is room; if one of them does not fit, none comes in.
inline Output enqueue_many(const QueueRef& q, const std::vector<Output>& components, std::string_view name = {}) {
  NodeBuilder n = q.handle.graph().node("QueueEnqueue", name.empty() ? "QueueEnqueueMany" : name);
  return detail_queues::describe(n.in(q.handle).in(components).attr("many", true), q.components).operation();
}
// enqueue where `keep`, a bool scalar, is true; else the element is dropped and the operation does not wait.
inline Output enqueue_if(const QueueRef& q, const Output& keep, const std::vector<Output>& components,
                         std::string_view name = {}) {
  NodeBuilder n = q.handle.graph().node("QueueEnqueue", name);
  n.in(q.handle).in(components).in(keep).attr("filter", true);
  return detail_queues::describe(n, q.components).operation();
}
// enqueue_many of those rows for which `keep`, a bool vector, is true; a bool scalar is for all of them.
inline Output enqueue_many_if(const QueueRef& q, const Output& keep, const std::vector<Output>& components,
                              std::string_view name = {}) {
  NodeBuilder n = q.handle.graph().node("QueueEnqueue", name.empty() ? "QueueEnqueueMany" : name);
  n.in(q.handle).in(components).in(keep).attr("many", true).attr("filter", true);
  return detail_queues::describe(n, q.components).operation();
}
// Tensors of equally many rows (their first dimension; any dtype), each in the order of this epoch, all in the same
// one: with shuffle another order for each number of `epoch` (an int64 scalar), a function of seed, node name, epoch
// and number of rows; else as they are. For an enqueue_many; belay/runtime/queue_inputs.h has producers made of it.
// INVALID_ARGUMENT in a run that finds no rows: a producer of none would go round for ever.
inline std::vector<Output> epoch_rows(const Output& epoch, const std::vector<Output>& rows, bool shuffle = false,
                                      std::int64_t seed = 0, std::string_view name = {}) {
  NodeBuilder n = epoch.graph().node("EpochRows", name);
  const Output first = n.in(epoch).in(rows).attr("shuffle", shuffle).attr("seed", seed).output();
  std::vector<Output> all;
  for (std::uint32_t i = 0; i < rows.size(); ++i) all.push_back(first.sibling(i));
  return all;
}
// One element, a tensor for each component; waits while there is none. Two fetches of one dequeue node in one run take
// one element; two nodes take two.
inline std::vector<Output> dequeue(const QueueRef& q, std::string_view name = {}) {
  NodeBuilder n = q.handle.graph().node("QueueDequeue", name);
  return detail_queues::outputs(q, detail_queues::describe(n.in(q.handle), q.components).output());
}
// n (at least 1) elements stacked along a new first dimension; fewer are OUT_OF_RANGE at the end, and stay in the
// queue. Elements of different shapes are INVALID_ARGUMENT unless the queue pads.
inline std::vector<Output> dequeue_many(const QueueRef& q, std::int64_t n_elements, std::string_view name = {}) {
  NodeBuilder n = q.handle.graph().node("QueueDequeue", name.empty() ? "QueueDequeueMany" : name);
  return detail_queues::outputs(q,
                                detail_queues::describe(n.in(q.handle).attr("n", n_elements), q.components).output());
}
// At most n elements stacked: fewer only when the queue is closed, what is left then; none left is OUT_OF_RANGE. The
// first dimension is unknown while the graph is built. For an evaluation, whose last batch may be short.
inline std::vector<Output> dequeue_up_to(const QueueRef& q, std::int64_t n_elements, std::string_view name = {}) {
  NodeBuilder n = q.handle.graph().node("QueueDequeue", name.empty() ? "QueueDequeueUpTo" : name);
  return detail_queues::outputs(
      q, detail_queues::describe(n.in(q.handle).attr("n", n_elements).attr("at_most", true), q.components).output());
}
// An operation after which no enqueue begins; those that wait still come in, or with cancel_pending_enqueues fail with
// CANCELLED. What is in the queue can be dequeued.
inline Output queue_close(const QueueRef& q, bool cancel_pending_enqueues = false, std::string_view name = {}) {
  return q.handle.graph()
      .node("QueueClose", name)
      .in(q.handle)
      .attr("cancel_pending_enqueues", cancel_pending_enqueues)
      .operation();
}
// How many elements it holds at that moment: an int64 scalar, for a summary; it may have changed when it is read.
inline Output queue_size(const QueueRef& q, std::string_view name = {}) {
  return q.handle.graph().node("QueueSize", name).in(q.handle).output();
}

}  // namespace ops
}  // namespace v0
}  // namespace belay
