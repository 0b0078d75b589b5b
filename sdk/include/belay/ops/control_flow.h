// SPDX-License-Identifier: Apache-2.0
// Branches and loops inside one run.
//
//   Output y = ops::cond(ops::less(x, limit), [&] { return x * 2.0; }, [&] { return ops::zeros_like(x); });
//
//   // The largest power of two below n:
//   Output p = ops::while_loop([&](const Output& v) { return ops::less(v * 2, n); },
//                              [&](const Output& v) { return v * 2; }, ops::constant(g, 1));
//
// The functions are called once, while the graph is built. The nodes that they add are a body: a part of the graph that
// runs only if it is needed. They may use outer outputs. These are computed first, even if the body does not run.
// Bodies may contain cond and while_loop.
//
// Rules; each violation is an INVALID_ARGUMENT with the node's name:
// * A body only computes. Make variables, placeholders, writes, queues, random numbers and summaries outside it. It may
//   read an outer variable.
// * No output of a body can be fetched, fed, collected or used outside it.
// * Branches return the same dtypes and shapes. A loop changes neither. Strings are not allowed.
//
// No gradient passes (UNIMPLEMENTED if one is wanted). If one must pass, use ops::select, which computes both sides.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "belay/graph.h"

namespace belay {
inline namespace v0 {
namespace ops {

namespace detail_control_flow {
// A function may return one output or several.
inline std::vector<Output> list(Output o) { return {o}; }
inline std::vector<Output> list(std::vector<Output> o) { return o; }

// The first n outputs of a node.
inline std::vector<Output> siblings(const Output& first, std::size_t n) {
  std::vector<Output> out;
  for (std::size_t i = 0; i < n; ++i) out.push_back(first.sibling(static_cast<std::uint32_t>(i)));
  return out;
}

// An argument of a body, with the dtype and shape of this outer value.
inline Output argument(const Graph& g, const Output& like) {
  NodeBuilder node = g.node("BodyInput", "value");
  node.attr("dtype", like.dtype());
  if (like.rank() < 0) {
    node.attr("unknown_rank", true);
  } else {
    node.attr("shape", like.dims());
  }
  return node.output();
}
inline std::vector<Output> arguments(const Graph& g, const std::vector<Output>& like) {
  std::vector<Output> out;
  for (const Output& o : like) out.push_back(argument(g, o));
  return out;
}
}  // namespace detail_control_flow

// Returns the results of then_function if the bool scalar is true, else those of else_function. Both return the same
// number of outputs, with the same dtypes and shapes. Functions: () -> Output or std::vector<Output>.
//
//   const std::vector<Output> ab = ops::cond_list(swap, [&] { return std::vector<Output>{b, a}; },
//                                                 [&] { return std::vector<Output>{a, b}; });
//
// The predicate is for the whole tensor. To choose element by element use ops::select.
template <class Then, class Else>
std::vector<Output> cond_list(const Output& condition, Then&& then_function, Else&& else_function,
                              std::string_view name = "cond") {
  using detail_control_flow::list;
  const Graph g = condition.graph();
  NodeBuilder node = g.node("Cond", name);
  node.in(condition);
  auto then_body = g.body(std::string(name) + "_then");
  const std::vector<Output> given = list(then_function());
  const std::size_t outputs = given.size();
  node.attr("then_body", then_body.end(given));
  auto else_body = g.body(std::string(name) + "_else");
  node.attr("else_body", else_body.end(list(else_function())));
  return detail_control_flow::siblings(node.output(), outputs);
}
// Does the same with one output: the first, if the functions return several.
template <class Then, class Else>
Output cond(const Output& condition, Then&& then_function, Else&& else_function, std::string_view name = "cond") {
  return cond_list(condition, then_function, else_function, name)[0];
}

// Applies body(values) while condition(values) is true, at most maximum_iterations times, and returns the last values.
// -1: no limit; a loop cannot be cancelled while it runs. condition: const std::vector<Output>& -> Output, a bool
// scalar. body: the same -> the same number of values, with the dtypes and shapes of its arguments.
//
//   // Newton's square root of a, ten times at most:
//   using Values = std::vector<Output>;
//   const auto wrong = [&](const Values& v) { return ops::greater(ops::abs(v[0] * v[0] - a), eps); };
//   const auto better = [&](const Values& v) { return Values{(v[0] + a / v[0]) * 0.5}; };
//   const Values root = ops::while_loop(wrong, better, Values{a}, 10);
template <class Condition, class Body>
std::vector<Output> while_loop(Condition&& condition, Body&& body, const std::vector<Output>& values,
                               std::int64_t maximum_iterations = -1, std::string_view name = "while") {
  using detail_control_flow::arguments;
  using detail_control_flow::list;
  if (values.empty()) fail(Code::kInvalidArgument, "while_loop needs at least one value");
  const Graph g = values[0].graph();
  NodeBuilder node = g.node("While", name);
  node.in(values).attr("maximum_iterations", maximum_iterations);
  auto condition_body = g.body(std::string(name) + "_condition");
  node.attr("condition_body", condition_body.end({condition(arguments(g, values))}));
  auto loop_body = g.body(std::string(name) + "_body");
  node.attr("loop_body", loop_body.end(list(body(arguments(g, values)))));
  return detail_control_flow::siblings(node.output(), values.size());
}
// Does the same with one value.
template <class Condition, class Body>
Output while_loop(Condition&& condition, Body&& body, const Output& value, std::int64_t maximum_iterations = -1,
                  std::string_view name = "while") {
  return while_loop([&](const std::vector<Output>& v) { return condition(v[0]); },
                    [&](const std::vector<Output>& v) { return body(v[0]); }, std::vector<Output>{value},
                    maximum_iterations, name)[0];
}

}  // namespace ops
}  // namespace v0
}  // namespace belay
