// SPDX-License-Identifier: Apache-2.0
// A kernel: one operation (or a fused group) prepared for concrete shapes. It is made when a plan is specialised, and
// runs at every step. Making it may be slow; running it allocates nothing. One run at a time uses a kernel object,
// which may keep scratch memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "belay/runtime/precision.h"
#include "runtime/graph/node_graph.h"
#include "runtime/platform/threads/cancellation.h"

namespace belay::runtime {

class BodyMaker;  // runtime/graph/body.h

// Counts the changes of a value.
using Version = std::atomic<std::uint64_t>;

struct TensorSpec {
  DType dtype = DType::kInvalid;
  Dims dims;
  // For an input that keeps its elements at the same place from run to run: a constant, or a variable that the plan
  // does not write. A kernel may keep data that it derives from the input until this changes. Null: each run brings
  // another input.
  const Version* version = nullptr;
  std::int64_t elements() const noexcept { return count_of(dims); }
  std::size_t bytes() const noexcept { return static_cast<std::size_t>(elements()) * dtype_size(dtype); }
};

struct KernelSpec {
  const Node& node;
  std::vector<TensorSpec> inputs;
  std::vector<TensorSpec> outputs;
  int threads = 1;         // the team that runs it; its size is always this one, so the work is always split in the
                           // same way
  std::uint64_t seed = 0;  // the run's; random kernels mix in the node's name
  // The members of a fused group in order, with `node` among them; else empty.
  std::vector<const Node*> members = {};
  // Prepares the bodies of the node, if its operation has any.
  const BodyMaker* bodies = nullptr;
  Precision precision = Precision::kFloat32;  // for products, convolutions and recurrent cells on float32

  const Attrs& attrs() const noexcept { return node.attrs; }
};

// The facts about the run for a kernel.
struct KernelContext {
  std::uint64_t counter = 0;            // for random streams: the global step (0: there is none)
  const CancelToken* cancel = nullptr;  // the run's; null: nothing cancels it
};

class Kernel {
 public:
  virtual ~Kernel() = default;
  // in[i] and out[i] are the elements, 64-byte aligned unless the caller feeds them. For an operation that writes
  // variables, the inputs of OpDef.ref_inputs are the variables' memory.
  virtual void run(void* const* in, void* const* out, const KernelContext& context) = 0;
  // Called for an operation that writes, under the exclusive gate: for all writes of the run before the first run(). It
  // is the last point at which a write may fail.
  virtual void check(void* const* in, const KernelContext& context) { (void)in, (void)context; }
};

template <class T>
const T* input(void* const* in, std::size_t i) noexcept {
  return static_cast<const T*>(in[i]);
}
template <class T>
T* output(void* const* out, std::size_t i) noexcept {
  return static_cast<T*>(out[i]);
}

}  // namespace belay::runtime
