// SPDX-License-Identifier: Apache-2.0
// The default graph of a thread: TensorFlow's `with g.as_default():`. A program that makes many operations without an
// input, such as constants and variables, names the graph once.
//
//   belay::OwnedGraph graph(belay::default_plugins());
//   {
//     const belay::DefaultGraph scope(graph);
//     const Output x = ops::placeholder(DType::kFloat32, {-1, 4}, "x");
//     const Output w = ops::variable("w", ops::glorot_uniform({4, 1}));
//     const Output y = ops::matmul(x, w);           // functions that get an output take its graph, as always
//   }
//   belay::OwnedSession session(graph);             // a session is made over a graph that is named
//
// This header declares the graph functions of belay/ops again, without the graph as an argument. They use the innermost
// default graph of their thread. There is no default graph without a scope. The functions with a graph ignore the
// default graph. FAILED_PRECONDITION: the thread has no default graph.
//
// Scopes nest. Each ends with its object, so keep the object in a local variable. An Estimator calls its input and
// model functions with their graph (InputArgs::graph, ModelArgs::graph) as the default graph.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "belay/graph.h"
#include "belay/ops/control.h"
#include "belay/ops/queues.h"
#include "belay/ops/random.h"
#include "belay/ops/shape.h"
#include "belay/ops/summaries.h"
#include "belay/ops/tables.h"
#include "belay/ops/variables.h"
#include "belay/runtime/queue_inputs.h"
#include "belay/runtime/session.h"

namespace belay {

// A scope with a default graph.
class DefaultGraph {
 public:
  // Makes `graph` the default graph of this thread until this object ends; an inner scope replaces it. The graph must
  // outlive the object. INVALID_ARGUMENT: `graph` is a default-made Graph.
  explicit DefaultGraph(const Graph& graph);
  // Must run on the thread that made the object.
  ~DefaultGraph();
  DefaultGraph(const DefaultGraph&) = delete;
  DefaultGraph& operator=(const DefaultGraph&) = delete;

 private:
  friend Graph default_graph();

  const Graph graph_;
  DefaultGraph* const outer_;
};

// TensorFlow's get_default_graph: the graph of this thread's innermost scope. FAILED_PRECONDITION: there is none.
Graph default_graph();

// Does the same as the function with a graph (session.h).
inline void add_queue_runner(const QueueRunner& runner) { add_queue_runner(default_graph(), runner); }

inline namespace v0 {
namespace ops {

// ---- control.h

inline Output constant(const Tensor& value, std::string_view name = {}) {
  return constant(default_graph(), value, name);
}
inline Output scalar(double value, DType dtype, std::string_view name = {}) {
  return scalar(default_graph(), value, dtype, name);
}
inline Output placeholder(DType dtype, const Dims& dims, std::string_view name = {}) {
  return placeholder(default_graph(), dtype, dims, name);
}
inline Output placeholder_of_any_rank(DType dtype, std::string_view name = {}) {
  return placeholder_of_any_rank(default_graph(), dtype, name);
}
inline Output group(const std::vector<Output>& after, std::string_view name = {}) {
  return group(default_graph(), after, name);
}
inline Output no_op(std::string_view name = {}) { return no_op(default_graph(), name); }

// ---- shape.h

inline Output range(double start, double limit, double delta = 1, DType dtype = DType::kInt32,
                    std::string_view name = {}) {
  return range(default_graph(), start, limit, delta, dtype, name);
}
inline Output fill(const Dims& dims, double value, DType dtype = DType::kFloat32, std::string_view name = {}) {
  return fill(default_graph(), dims, value, dtype, name);
}
inline Output zeros(const Dims& dims, DType dtype = DType::kFloat32, std::string_view name = {}) {
  return zeros(default_graph(), dims, dtype, name);
}
inline Output ones(const Dims& dims, DType dtype = DType::kFloat32, std::string_view name = {}) {
  return ones(default_graph(), dims, dtype, name);
}

// ---- random.h

inline Output random_uniform(const Dims& dims, double low = 0, double high = 1, DType dtype = DType::kFloat32,
                             std::string_view name = {}) {
  return random_uniform(default_graph(), dims, low, high, dtype, name);
}
inline Output random_normal(const Dims& dims, double mean = 0, double stddev = 1, DType dtype = DType::kFloat32,
                            std::string_view name = {}) {
  return random_normal(default_graph(), dims, mean, stddev, dtype, name);
}
inline Output truncated_normal(const Dims& dims, double mean = 0, double stddev = 1, DType dtype = DType::kFloat32,
                               std::string_view name = {}) {
  return truncated_normal(default_graph(), dims, mean, stddev, dtype, name);
}
inline Output glorot_uniform(const Dims& dims, DType dtype = DType::kFloat32, std::string_view name = {}) {
  return glorot_uniform(default_graph(), dims, dtype, name);
}
inline Output he_normal(const Dims& dims, DType dtype = DType::kFloat32, std::string_view name = {}) {
  return he_normal(default_graph(), dims, dtype, name);
}

// ---- variables.h

inline Output variable(std::string_view name, const Output& initial_value,
                       VariableKind kind = VariableKind::kTrainable) {
  return variable(default_graph(), name, initial_value, kind);
}
inline Output variable(std::string_view name, const Tensor& initial_value,
                       VariableKind kind = VariableKind::kTrainable) {
  return variable(default_graph(), name, initial_value, kind);
}
inline Output report_uninitialized_variables(const std::vector<Output>& variables, std::string_view name = {}) {
  return report_uninitialized_variables(default_graph(), variables, name);
}
inline Output create_global_step() { return create_global_step(default_graph()); }
inline Output get_or_create_global_step() { return get_or_create_global_step(default_graph()); }

// ---- tables.h, summaries.h

inline TableRef hash_table(const Output& keys, const Output& values, std::string_view name = {}) {
  return hash_table(default_graph(), keys, values, name);
}
inline Output merge_summary(const std::vector<Output>& summaries, std::string_view name = {}) {
  return merge_summary(default_graph(), summaries, name);
}

// ---- queues.h, queue_inputs.h

inline QueueRef fifo_queue(std::int64_t capacity, const std::vector<QueueComponent>& components,
                           std::string_view name = {}) {
  return fifo_queue(default_graph(), capacity, components, name);
}
inline QueueRef padding_fifo_queue(std::int64_t capacity, const std::vector<QueueComponent>& components,
                                   std::string_view name = {}) {
  return padding_fifo_queue(default_graph(), capacity, components, name);
}
inline QueueRef random_shuffle_queue(std::int64_t capacity, std::int64_t min_after_dequeue,
                                     const std::vector<QueueComponent>& components, std::int64_t seed = 0,
                                     std::string_view name = {}) {
  return random_shuffle_queue(default_graph(), capacity, min_after_dequeue, components, seed, name);
}
inline QueueRef string_input_producer(const std::vector<std::string>& strings, const ProducerOptions& options = {}) {
  return string_input_producer(default_graph(), strings, options);
}
inline QueueRef range_input_producer(std::int64_t limit, const ProducerOptions& options = {}) {
  return range_input_producer(default_graph(), limit, options);
}
inline Output match_filenames_once(const std::vector<std::string>& patterns, std::string_view name = {}) {
  return match_filenames_once(default_graph(), patterns, name);
}

}  // namespace ops
}  // namespace v0
}  // namespace belay
