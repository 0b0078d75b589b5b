// SPDX-License-Identifier: Apache-2.0
#include "runtime/graph/op_def.h"

#include <fmt/core.h>

#include <algorithm>

#include "runtime/graph/node_graph.h"

namespace belay::runtime {

void InferContext::output(DType dtype, Shape shape) {
  auto bytes = static_cast<std::int64_t>(dtype_size(dtype));
  bool overflows = false, empty = false;
  for (std::size_t i = 0; shape.fully_known() && i < shape.dims().size(); ++i) {
    overflows = overflows || __builtin_mul_overflow(bytes, shape.dim(i), &bytes);
    empty = empty || shape.dim(i) == 0;
  }
  if (overflows && !empty)
    fail(fmt::format("output {} of shape {} has more bytes than can be addressed", outputs_.size(), shape.text()));
  outputs_.emplace_back(dtype, std::move(shape));
}

void InferContext::fail(const std::string& text) const {
  belay::fail(Code::kInvalidArgument, "node '" + name_ + "' (" + op_.name + "): " + text);
}

std::string InferContext::input_text(std::size_t i) const {
  return fmt::format("input {} ({} {})", i, dtype_name(dtypes_[i]), shapes_[i].text());
}

void InferContext::need_rank(std::size_t i, std::int32_t rank) const {
  if (shapes_[i].has_rank() && shapes_[i].rank() != rank)
    fail(input_text(i) + " must " +
         (rank == 0 ? std::string("be a scalar")
                    : fmt::format("have {}{}", rank, rank == 1 ? " dimension" : " dimensions")));
}

void InferContext::need_dtype(std::size_t i, DType dtype) const {
  if (dtypes_[i] != dtype) fail(input_text(i) + " must be " + dtype_name(dtype));
}

void InferContext::need_same_dtype(std::size_t i, std::size_t j) const {
  if (dtypes_[i] != dtypes_[j]) fail(input_text(i) + " and " + input_text(j) + " must have the same dtype");
}

void InferContext::need_float(std::size_t i) const {
  if (dtypes_[i] != DType::kFloat32 && dtypes_[i] != DType::kFloat64)
    fail(input_text(i) + " must be float32 or float64");
}

void InferContext::need_number(std::size_t i) const {
  if (dtypes_[i] == DType::kBool || dtypes_[i] == DType::kString) fail(input_text(i) + " must be a number");
  if (dtypes_[i] == DType::kBFloat16 || dtypes_[i] == DType::kFloat16)
    fail(input_text(i) + " is of a dtype for storage; cast it to float32");
}

std::size_t InferContext::axis(std::int64_t axis, std::int32_t rank) const {
  if (axis < -rank || axis >= rank) fail(fmt::format("axis {} is not in [{}, {})", axis, -rank, rank));
  return static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
}

const Attrs& GradContext::attrs() const noexcept { return node_.attrs; }

void OpRegistry::add(OpDef def) {
  const std::string name = def.name;
  if (!ops_.emplace(name, std::make_unique<OpDef>(std::move(def))).second)
    fail(Code::kAlreadyExists, "operation '" + name + "' is defined twice");
}

const OpDef* OpRegistry::find(std::string_view name) const {
  const auto it = ops_.find(std::string(name));
  return it == ops_.end() ? nullptr : it->second.get();
}

std::vector<std::string> OpRegistry::names() const {
  std::vector<std::string> names;
  for (const auto& [name, def] : ops_) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace belay::runtime
