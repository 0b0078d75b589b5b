// SPDX-License-Identifier: Apache-2.0
// The common part of host operations on the session's queues, tables and variables.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include "runtime/graph/host_kernel.h"
#include "runtime/graph/kernel.h"
#include "runtime/graph/op_def.h"

namespace belay::runtime {

// Makes K from the node if K has such a constructor.
template <class K>
std::unique_ptr<HostKernel> make_host(const KernelSpec& spec) {
  if constexpr (std::is_constructible_v<K, const KernelSpec&>) {
    return std::make_unique<K>(spec);
  } else {
    return std::make_unique<K>();
  }
}

// `resource` is HostContext's function that finds the object to count.
template <auto resource>
class SizeKernel final : public HostKernel {
 public:
  void run(HostContext& c) override {
    DenseTensor out(DType::kInt64, {});
    *out.data<std::int64_t>() = (c.*resource)(0).size();
    c.output(0, std::move(out));
  }
};

// Defines an operation that counts the elements of a queue or table.
template <auto resource>
OpDef size_op(const char* name, const char* doc, const char* input, Effect effect) {
  return {.name = name,
          .doc = doc,
          .inputs = input,
          .dtypes = "any",
          .n_inputs = 1,
          .effect = effect,
          .ref_inputs = 1,
          .infer = infer_count,
          .stops_gradient = true,
          .host_kernel = make_host<SizeKernel<resource>>};
}

}  // namespace belay::runtime
