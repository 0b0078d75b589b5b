// SPDX-License-Identifier: Apache-2.0
// Checks an operation alone, on synthetic inputs that its shape rule takes, and on the real engine. There its gradient
// is compared with finite differences.
#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <thread>

#include "belay/philox.h"
#include "belay/testing/node_driver.h"
#include "belay/testing/op_driver.h"
#include "runtime/ops/plugin/plugin_op.h"
#include "runtime/platform/text/text.h"
#include "runtime/validate/check.h"

namespace belay::runtime {
namespace op_cases {

using belay::testing::NodeDriver;
using belay::testing::OpDriver;
using belay::testing::OpInput;
using belay::testing::OptionValue;

constexpr DType kNumbers[] = {DType::kFloat32, DType::kFloat64, DType::kInt64,    DType::kInt32,
                              DType::kUInt8,   DType::kBool,    DType::kBFloat16, DType::kFloat16};

std::string text_of(const std::vector<OpInput>& inputs) {
  std::vector<std::string> parts;
  for (const OpInput& i : inputs)
    parts.push_back(std::string(dtype_name(i.dtype)) + " " + (i.rank_known ? dims_text(i.dims) : "[...]"));
  return inputs.empty() ? "no inputs" : joined(parts);
}

// Makes numbers between -1 and 1, small integers, and both booleans.
Tensor synthetic(const OpInput& spec, std::uint64_t seed) {
  Tensor t(spec.dtype, spec.dims);
  const TensorView view(t.view());
  for (std::size_t i = 0; i < t.size(); ++i) {
    const std::uint64_t word = mix_key(seed, i);
    const double fraction = static_cast<double>(word % 2001) / 1000 - 1;
    switch (spec.dtype) {
      case DType::kFloat32: t.data<float>()[i] = static_cast<float>(fraction); break;
      case DType::kFloat64: t.data<double>()[i] = fraction; break;
      case DType::kInt32: t.data<std::int32_t>()[i] = static_cast<std::int32_t>(word % 3); break;
      case DType::kInt64: t.data<std::int64_t>()[i] = static_cast<std::int64_t>(word % 3); break;
      // The bits are those of 1.0, or 0.
      case DType::kBFloat16: static_cast<std::uint16_t*>(view.mutable_data())[i] = word % 2 == 0 ? 0 : 0x3f80; break;
      case DType::kFloat16: static_cast<std::uint16_t*>(view.mutable_data())[i] = word % 2 == 0 ? 0 : 0x3c00; break;
      default: static_cast<std::uint8_t*>(view.mutable_data())[i] = static_cast<std::uint8_t>(word % 2); break;
    }
  }
  return t;
}
std::vector<Tensor> synthetic(const std::vector<OpInput>& inputs, std::uint64_t seed) {
  std::vector<Tensor> all;
  for (std::size_t i = 0; i < inputs.size(); ++i) all.push_back(synthetic(inputs[i], mix_key(seed, i + 1)));
  return all;
}

// Returns lists of n inputs of this shape. A list has one type, or float32 for the first input and integers after it.
std::vector<std::vector<OpInput>> kinds_of(int n, const Dims& dims) {
  std::vector<std::vector<OpInput>> all;
  for (const DType t : kNumbers) all.emplace_back(static_cast<std::size_t>(n), OpInput{t, dims});
  for (const DType t : {DType::kInt64, DType::kInt32}) {
    std::vector<OpInput> mixed(static_cast<std::size_t>(n), OpInput{t, dims});
    if (n < 2) continue;
    mixed[0].dtype = DType::kFloat32;
    all.push_back(std::move(mixed));
  }
  return all;
}

// Returns the inputs that the shape rule takes, shape by shape.
std::vector<std::vector<OpInput>> accepted(const Subject& subject, OpDriver& op, const std::vector<Dims>& shapes) {
  std::vector<std::vector<OpInput>> all;
  std::string last;
  const int given = op.traits().n_inputs;
  for (int n = given < 0 ? 1 : given; n <= (given < 0 ? 4 : given); ++n)
    for (const Dims& dims : shapes)
      for (const std::vector<OpInput>& inputs : kinds_of(n, dims)) {
        try {
          op.infer(inputs);
          all.push_back(inputs);
        } catch (const Error& e) {
          require_explained("infer of " + text_of(inputs), e);
          last = runtime::text_of(e);
        }
        if (n == 0) break;
      }
  if (all.empty())
    throw CheckSkipped("its shape rule takes none of the synthetic inputs" +
                       (subject.options_are_given ? "" : std::string(" with the default attributes")) + ": " + last +
                       "; give its attributes with --set");
  return all;
}

const std::vector<Dims> kShapes = {{3, 5}, {4}, {}, {4, 4}, {2, 3, 4}, {2, 3, 4, 4}};

// It must not claim unknown dimensions. Known ones must not depend on the time of the question.
void shapes(const Subject& subject) {
  OpDriver op(subject.module, subject.options(), setup_of(subject));
  for (const std::vector<OpInput>& known : accepted(subject, op, kShapes)) {
    const std::vector<OpInput> out = op.infer_outputs(known);
    std::vector<OpInput> partial = known, unranked = known;
    for (OpInput& i : partial) std::fill(i.dims.begin(), i.dims.end(), -1);
    for (OpInput& i : unranked) i.rank_known = false, i.dims.clear();
    for (const std::vector<OpInput>& less : {partial, unranked}) {
      std::vector<OpInput> early;
      must_succeed("infer of " + text_of(less) + ", when it takes " + text_of(known) + ",",
                   [&] { early = op.infer_outputs(less); });
      bool fits = early.size() == out.size();
      for (std::size_t i = 0; fits && i < out.size(); ++i)
        fits = early[i].dtype == out[i].dtype && (!early[i].rank_known || Shape(early[i].dims).allows(out[i].dims));
      if (!fits)
        throw CheckFailed("infer returns " + text_of(early) + " for " + text_of(less) + ", but " + text_of(out) +
                          " for " + text_of(known));
    }
  }
}

// Runs each shape on one thread and on two, each twice from the start. Both runs must have the same bits.
void runs(const Subject& subject) {
  OpDriver op(subject.module, subject.options(), setup_of(subject));
  std::vector<Dims> sizes = kShapes;
  for (const Dims& odd : std::vector<Dims>{{0}, {1}, {17}, {0, 3}, {3, 0}, {1, 1}, {129, 7}, {100'003}})
    sizes.push_back(odd);
  for (const std::vector<OpInput>& inputs : accepted(subject, op, sizes)) {
    const std::vector<Tensor> values = synthetic(inputs, subject.seed);
    for (const int threads : {1, 2}) {
      op.threads = threads;
      const std::string where =
          fmt::format("run on {} with {}{}", text_of(inputs), threads, threads == 1 ? " thread" : " threads");
      must_succeed(where, [&] {
        const std::vector<Tensor> first = op.run(values), second = op.run(values);
        for (std::size_t i = 0; i < first.size(); ++i) {
          const TensorView a(first[i]), b(second[i]);
          if (a.bytes() != 0 && std::memcmp(a.data(), b.data(), a.bytes()) != 0)
            throw CheckFailed(where + " gave other bits with another kernel for the same node");
        }
      });
    }
  }
}

// Inputs of all types and ranks, too many and none, are refused or taken, but never a crash.
void odd_inputs(const Subject& subject) {
  OpDriver op(subject.module, subject.options(), setup_of(subject));
  for (const Dims& dims : std::vector<Dims>{{}, {2}, {2, 3}, {-1, 3}, {1, 2, 3, 4, 5, 6}})
    for (const DType t : kNumbers)
      for (int n = 0; n <= 5; ++n) {
        if (op.traits().n_inputs >= 0 && n != op.traits().n_inputs) continue;  // the host refuses those
        const std::vector<OpInput> inputs(static_cast<std::size_t>(n), OpInput{t, dims});
        may_refuse("infer of " + text_of(inputs), [&] { op.infer(inputs); });
      }
}

// By the note, the host refuses these. The plugin must not crash if they reach it.
void odd_attributes(const Subject& subject) {
  const auto try_with = [&](const std::string& what, const OptionValue& value) {
    may_refuse(what, [&] {
      OpDriver op(subject.module, subject.options().with(value), setup_of(subject));
      const int n = std::max(op.traits().n_inputs, 1);
      op.infer(std::vector<OpInput>(static_cast<std::size_t>(n), OpInput{DType::kFloat32, {3, 5}}));
    });
  };
  try_with("an attribute that it does not have", OptionValue("no-such-attribute", 1));
  for (const OptionInfo& attr : subject.info.options) {
    try_with("attribute '" + attr.name + "' of a wrong type",
             attr.type == OptionType::kString ? OptionValue(attr.name, 7)
                                              : OptionValue(attr.name, std::vector<std::string>{"seven"}));
    for (const auto& limit : {attr.min, attr.max})
      if (limit && attr.type == OptionType::kFloat && !attr.list)
        try_with("attribute '" + attr.name + "' = " + detail::number_text(*limit), OptionValue(attr.name, *limit));
  }
}

// Two nodes of an operation may run at the same time.
void kernels_apart(const Subject& subject) {
  OpDriver one(subject.module, subject.options(), setup_of(subject)),
      other(subject.module, subject.options(), setup_of(subject));
  const std::vector<OpInput> inputs = accepted(subject, one, {{64, 65}, {4096}, {2, 3, 4, 4}, {}}).front();
  const std::vector<Tensor> values = synthetic(inputs, subject.seed);
  must_succeed("run of two nodes at the same time", [&] {
    const std::vector<Tensor> expected = one.run(values);
    std::optional<Error> failed;
    std::vector<Tensor> beside;
    std::thread thread([&] {
      try {
        for (int i = 0; i < 20; ++i) beside = other.run(values);
      } catch (const Error& e) {
        failed = e;
      }
    });
    std::vector<Tensor> here;
    try {
      for (int i = 0; i < 20; ++i) here = one.run(values);
    } catch (...) {
      thread.join();
      throw;
    }
    thread.join();
    if (failed) throw Error(*failed);
    for (std::size_t i = 0; i < expected.size(); ++i)
      for (const std::vector<Tensor>* got : {&here, &beside}) {
        const TensorView a(expected[i]), b((*got)[i]);
        if (a.bytes() != 0 && std::memcmp(a.data(), b.data(), a.bytes()) != 0)
          throw CheckFailed("run of two nodes at the same time gave other bits than one alone");
      }
  });
}

constexpr double kLargestGradientError = 2e-2;

void gradients(const Subject& subject) {
  OpDriver op(subject.module, subject.options(), setup_of(subject));
  if (!op.has_gradient()) throw CheckSkipped("it has no gradient");
  std::size_t compared = 0;
  for (const std::vector<OpInput>& inputs : accepted(subject, op, kShapes)) {
    if (inputs[0].dtype != DType::kFloat32 && inputs[0].dtype != DType::kFloat64) continue;
    const std::string where = "the gradient for " + text_of(inputs);
    must_succeed(where, [&] {
      NodeDriver node(subject.module, operation_name(subject.info.name), subject.options());
      for (const OpInput& i : inputs) node.input(i.dtype, i.dims);
      node.build();
      if (!node.has_gradient()) fail(Code::kInvalidArgument, node.gradient_error());
      const double error = node.worst_gradient_error(synthetic(inputs, subject.seed));
      ++compared;
      if (!(error < kLargestGradientError))
        throw CheckFailed(where + " differs from finite differences by " + detail::number_text(error) +
                          ", relative to the larger of 1 and the gradient");
    });
  }
  if (compared == 0) throw CheckSkipped("it takes none of the synthetic inputs as float32 or float64");
}

// Uses a graph: with dimensions that are known only when it runs, and with a changing first dimension.
void in_a_graph(const Subject& subject) {
  OpDriver op(subject.module, subject.options(), setup_of(subject));
  const std::vector<OpInput> inputs = accepted(subject, op, kShapes).front();
  must_succeed("a node in a graph", [&] {
    NodeDriver node(subject.module, operation_name(subject.info.name), subject.options());
    for (const OpInput& i : inputs) node.input_of_unknown_rank(i.dtype);
    node.build(2);
    op.threads = 2;
    const std::vector<Tensor> values = synthetic(inputs, subject.seed);
    const std::vector<Tensor> got = node.run(values);
    for (std::uint32_t i = 0; i < node.n_outputs(); ++i)
      if (TensorView(got[i]).dims() != op.infer_outputs(inputs)[i].dims)
        throw CheckFailed(fmt::format("output {} has another shape in a graph", i));
  });
}

}  // namespace op_cases

std::vector<Check> op_checks() {
  using namespace op_cases;
  return {{"drive.shapes", shapes},
          {"drive.runs", runs},
          {"drive.odd_inputs", odd_inputs},
          {"drive.odd_attributes", odd_attributes},
          {"drive.kernels_apart", kernels_apart},
          {"drive.in_a_graph", in_a_graph},
          {"drive.gradients", gradients}};
}

}  // namespace belay::runtime
