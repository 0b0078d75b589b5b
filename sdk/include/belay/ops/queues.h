// SPDX-License-Identifier: Apache-2.0
// Queues between threads of a session. Enqueue waits while the queue is full, dequeue while it is empty; a closed and
// empty one ends its readers with OUT_OF_RANGE.
#pragma once

#include <string_view>
#include <vector>

#include "belay/graph.h"

namespace belay {
inline namespace v0 {
namespace ops {

struct QueueComponent {
  DType dtype;
  Dims dims;               // -1: differs from element to element
  bool known_rank = true;  // false: any shape
};

// A queue's node and the description of its elements.
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
    if (c.known_rank) shapes.insert(shapes.end(), c.dims.begin(), c.dims.end());
  }
  return n.attr("dtypes", dtypes).attr("shapes", shapes);
}
inline std::vector<Output> outputs(const QueueRef& q, const Output& first) {
  std::vector<Output> all;
  for (std::uint32_t i = 0; i < q.components.size(); ++i) all.push_back(first.sibling(i));
  return all;
}
}  // namespace detail_queues

inline QueueRef fifo_queue(const Graph& g, std::int64_t capacity, const std::vector<QueueComponent>& components,
                           std::string_view name = {}) {
  NodeBuilder n = g.node("FIFOQueue", name);
  return {detail_queues::describe(n.attr("capacity", capacity), components).output(), components};
}
// Elements may differ in the dimensions given as -1; dequeued together they are padded with zeros (strings: empty).
inline QueueRef padding_fifo_queue(const Graph& g, std::int64_t capacity, const std::vector<QueueComponent>& components,
                                   std::string_view name = {}) {
  NodeBuilder n = g.node("PaddingFIFOQueue", name);
  return {detail_queues::describe(n.attr("capacity", capacity), components).output(), components};
}
// Gives a random one of its elements; while it is open at least min_after_dequeue stay, so that there are some to
// choose from. A training run that is fed by one resumes only approximately: a checkpoint does not hold what is in a
// queue.
inline QueueRef random_shuffle_queue(const Graph& g, std::int64_t capacity, std::int64_t min_after_dequeue,
                                     const std::vector<QueueComponent>& components, std::int64_t seed = 0,
                                     std::string_view name = {}) {
  NodeBuilder n = g.node("RandomShuffleQueue", name);
  n.attr("capacity", capacity).attr("min_after_dequeue", min_after_dequeue).attr("seed", seed);
  return {detail_queues::describe(n, components).output(), components};
}
inline Output enqueue(const QueueRef& q, const std::vector<Output>& components, std::string_view name = {}) {
  NodeBuilder n = q.handle.graph().node("QueueEnqueue", name);
  return detail_queues::describe(n.in(q.handle).in(components), q.components).operation();
}
// The rows of the components, one element each.
inline Output enqueue_many(const QueueRef& q, const std::vector<Output>& components, std::string_view name = {}) {
  NodeBuilder n = q.handle.graph().node("QueueEnqueue", name.empty() ? "QueueEnqueueMany" : name);
  return detail_queues::describe(n.in(q.handle).in(components).attr("many", true), q.components).operation();
}
inline std::vector<Output> dequeue(const QueueRef& q, std::string_view name = {}) {
  NodeBuilder n = q.handle.graph().node("QueueDequeue", name);
  return detail_queues::outputs(q, detail_queues::describe(n.in(q.handle), q.components).output());
}
// n elements stacked; fewer are an error at the end.
inline std::vector<Output> dequeue_many(const QueueRef& q, std::int64_t n_elements, std::string_view name = {}) {
  NodeBuilder n = q.handle.graph().node("QueueDequeue", name.empty() ? "QueueDequeueMany" : name);
  return detail_queues::outputs(q,
                                detail_queues::describe(n.in(q.handle).attr("n", n_elements), q.components).output());
}
// At most n elements stacked: what is left when the queue is closed.
inline std::vector<Output> dequeue_up_to(const QueueRef& q, std::int64_t n_elements, std::string_view name = {}) {
  NodeBuilder n = q.handle.graph().node("QueueDequeue", name.empty() ? "QueueDequeueUpTo" : name);
  return detail_queues::outputs(
      q, detail_queues::describe(n.in(q.handle).attr("n", n_elements).attr("at_most", true), q.components).output());
}
inline Output queue_close(const QueueRef& q, bool cancel_pending_enqueues = false, std::string_view name = {}) {
  return q.handle.graph()
      .node("QueueClose", name)
      .in(q.handle)
      .attr("cancel_pending_enqueues", cancel_pending_enqueues)
      .operation();
}
inline Output queue_size(const QueueRef& q, std::string_view name = {}) {
  return q.handle.graph().node("QueueSize", name).in(q.handle).output();
}

}  // namespace ops
}  // namespace v0
}  // namespace belay
