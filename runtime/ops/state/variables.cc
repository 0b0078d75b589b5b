// SPDX-License-Identifier: Apache-2.0
// Variables: the node is the value at the time of the read. Writes happen in a run's commit.
#include <algorithm>
#include <cstring>
#include <limits>

#include "belay/ops/variables.h"

#include <fmt/core.h>
#include "runtime/graph/host_kernel.h"
#include "runtime/graph/kernel.h"
#include "runtime/ops/kernels/parallel.h"
#include "runtime/ops/registry.h"
#include "runtime/ops/state/host_ops.h"

namespace belay::runtime {
namespace {

void infer_variable(InferContext& c) {
  const DType dtype = c.attrs().dtype("dtype");
  Shape shape(c.attrs().integers("shape"));
  if (dtype_size(dtype) == 0 || dtype == DType::kString) c.fail("a variable is a number or boolean");
  if (!shape.fully_known()) c.fail("a variable's shape must be known, got " + shape.text());
  c.output(dtype, std::move(shape));
}

void infer_assign(InferContext& c) {
  c.need_same_dtype(0, 1);
  if (!Shape::compatible(c.shape(0), c.shape(1)))
    c.fail("the variable has shape " + c.shape(0).text() + ", the value " + c.shape(1).text());
  c.output(c.dtype(0), c.shape(0));
}

void infer_assign_update(InferContext& c) {
  c.need_number(0);
  infer_assign(c);
}

class AssignKernel final : public Kernel {
 public:
  explicit AssignKernel(const KernelSpec& spec) : bytes_(spec.inputs[0].bytes()), threads_(spec.threads) {
    if (spec.inputs[0].dims != spec.inputs[1].dims)
      fail(Code::kInvalidArgument, "the variable has shape " + dims_text(spec.inputs[0].dims) + ", the value " +
                                       dims_text(spec.inputs[1].dims));
  }
  void run(void* const* in, void* const*, const KernelContext&) override {
    // The value is in another tensor's memory, or in the variable's.
    if (in[0] == in[1]) return;
    parallel_for(static_cast<std::int64_t>(bytes_), 1 << 20, threads_, [&](std::int64_t begin, std::int64_t end, int) {
      std::memcpy(static_cast<char*>(in[0]) + begin, static_cast<const char*>(in[1]) + begin,
                  static_cast<std::size_t>(end - begin));
    });
  }

 private:
  std::size_t bytes_;
  int threads_;
};

std::unique_ptr<Kernel> make_assign(const KernelSpec& spec) { return std::make_unique<AssignKernel>(spec); }

template <class T, int sign>
class AssignUpdateKernel final : public Kernel {
 public:
  explicit AssignUpdateKernel(const KernelSpec& spec) : n_(spec.inputs[0].elements()), threads_(spec.threads) {
    if (spec.inputs[0].dims != spec.inputs[1].dims)
      fail(Code::kInvalidArgument, "the variable has shape " + dims_text(spec.inputs[0].dims) + ", the value " +
                                       dims_text(spec.inputs[1].dims));
  }
  void run(void* const* in, void* const*, const KernelContext&) override {
    T* variable = static_cast<T*>(in[0]);
    const T* value = input<T>(in, 1);
    parallel_for(n_, 1 << 15, threads_, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i)
        variable[i] = static_cast<T>(sign > 0 ? variable[i] + value[i] : variable[i] - value[i]);
    });
  }

 private:
  std::int64_t n_;
  int threads_;
};

template <int sign>
std::unique_ptr<Kernel> make_assign_update(const KernelSpec& spec) {
  switch (spec.inputs[0].dtype) {
    case DType::kFloat32: return std::make_unique<AssignUpdateKernel<float, sign>>(spec);
    case DType::kFloat64: return std::make_unique<AssignUpdateKernel<double, sign>>(spec);
    case DType::kInt32: return std::make_unique<AssignUpdateKernel<std::int32_t, sign>>(spec);
    case DType::kInt64: return std::make_unique<AssignUpdateKernel<std::int64_t, sign>>(spec);
    case DType::kUInt8: return std::make_unique<AssignUpdateKernel<std::uint8_t, sign>>(spec);
    default: fail(Code::kUnimplemented, std::string("no kernel for ") + dtype_name(spec.inputs[0].dtype));
  }
}

void infer_count_up_to(InferContext& c) {
  c.need_scalar(0);
  if (c.dtype(0) != DType::kInt32 && c.dtype(0) != DType::kInt64) c.fail(c.input_text(0) + " must be int32 or int64");
  const std::int64_t limit = c.attrs().integer("limit");
  if (c.dtype(0) == DType::kInt32 && limit > std::numeric_limits<std::int32_t>::max())
    c.fail(fmt::format("attribute 'limit' must fit int32, got {}", limit));
  c.output(c.dtype(0), Shape{});
}

template <class T>
class CountUpToKernel final : public Kernel {
 public:
  explicit CountUpToKernel(const KernelSpec& spec) : limit_(spec.attrs().integer("limit")) {}
  void check(void* const* in, const KernelContext&) override {
    if (*input<T>(in, 0) >= limit_) fail(Code::kOutOfRange, fmt::format("Reached limit of {}", limit_));
  }
  void run(void* const* in, void* const*, const KernelContext&) override { ++*static_cast<T*>(in[0]); }

 private:
  std::int64_t limit_;
};

std::unique_ptr<Kernel> make_count_up_to(const KernelSpec& spec) {
  if (spec.inputs[0].dtype == DType::kInt32) return std::make_unique<CountUpToKernel<std::int32_t>>(spec);
  return std::make_unique<CountUpToKernel<std::int64_t>>(spec);
}

void infer_is_initialized(InferContext& c) { c.output(DType::kBool, Shape{}); }

class IsInitializedKernel final : public HostKernel {
 public:
  void run(HostContext& c) override {
    DenseTensor out(DType::kBool, {});
    *out.data<std::uint8_t>() = c.variable_initialized(0) ? 1 : 0;
    c.output(0, std::move(out));
  }
};

void infer_report(InferContext& c) { c.output(DType::kString, Shape{-1}); }

class ReportKernel final : public HostKernel {
 public:
  explicit ReportKernel(const KernelSpec& spec) : n_(spec.node.inputs.size()) {}
  void run(HostContext& c) override {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < n_; ++i)
      if (!c.variable_initialized(i)) names.push_back(c.variable_name(i));
    DenseTensor out(DType::kString, {static_cast<std::int64_t>(names.size())});
    for (std::size_t i = 0; i < names.size(); ++i) out.set_text(i, names[i]);
    c.output(0, std::move(out));
  }

 private:
  std::size_t n_;
};

}  // namespace

void add_variable_ops(OpRegistry& r) {
  r.add({.name = "Variable",
         .doc = "A variable of the session's store, by the node's name.",
         .dtypes = "any but string",
         .attrs = {dtype_attr("dtype", "of the variable"), shape_attr("shape", "of the variable").defaults_to(Dims{})},
         .effect = Effect::kVariable,
         .infer = infer_variable,
         .stops_gradient = true});
  r.add({.name = "Assign",
         .doc = "Sets a variable (input 0) to a value; returns the variable's new value.",
         .inputs = "variable, value",
         .dtypes = "any but string",
         .n_inputs = 2,
         .role = Role::kAssign,
         .effect = Effect::kWrite,
         .ref_inputs = 1,
         .infer = infer_assign,
         .stops_gradient = true,
         .kernel = make_assign});
  r.add({.name = "AssignAdd",
         .doc = "Adds a value to a variable (input 0); returns the variable's new value.",
         .inputs = "variable, value",
         .dtypes = "numbers",
         .n_inputs = 2,
         .effect = Effect::kWrite,
         .ref_inputs = 1,
         .infer = infer_assign_update,
         .stops_gradient = true,
         .kernel = make_assign_update<1>});
  r.add({.name = "AssignSub",
         .doc = "Subtracts a value from a variable (input 0); returns the variable's new value.",
         .inputs = "variable, value",
         .dtypes = "numbers",
         .n_inputs = 2,
         .effect = Effect::kWrite,
         .ref_inputs = 1,
         .infer = infer_assign_update,
         .stops_gradient = true,
         .kernel = make_assign_update<-1>});
  r.add({.name = "CountUpTo",
         .doc = "Adds 1 to an integer scalar; at `limit` the run ends with OUT_OF_RANGE instead.",
         .inputs = "variable",
         .dtypes = "int32, int64",
         .n_inputs = 1,
         .attrs = {int_attr("limit", "the value that is not gone beyond")},
         .effect = Effect::kWrite,
         .ref_inputs = 1,
         .infer = infer_count_up_to,
         .stops_gradient = true,
         .kernel = make_count_up_to});
  r.add({.name = "IsVariableInitialized",
         .doc = "Whether a variable has a value.",
         .inputs = "variable",
         .dtypes = "any",
         .n_inputs = 1,
         .effect = Effect::kQuery,
         .ref_inputs = 1,
         .infer = infer_is_initialized,
         .stops_gradient = true,
         .host_kernel = make_host<IsInitializedKernel>});
  r.add({.name = "ReportUninitializedVariables",
         .doc = "Names of those of its variables that have no value yet.",
         .inputs = "variables...",
         .dtypes = "any",
         .n_inputs = -1,
         .effect = Effect::kQuery,
         .ref_inputs = kAllInputs,
         .dynamic_shape = true,
         .infer = infer_report,
         .stops_gradient = true,
         .host_kernel = make_host<ReportKernel>});
}

}  // namespace belay::runtime
