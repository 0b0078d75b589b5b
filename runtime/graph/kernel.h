// SPDX-License-Identifier: Apache-2.0
// A kernel: one operation (or a fused group) prepared for concrete shapes. Made when a plan is specialised, run at
// every step; making it may be slow, running it allocates nothing. A kernel object belongs to one run at a time and may
// keep scratch memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "belay/runtime/precision.h"
#include "runtime/graph/node_graph.h"
#include "runtime/platform/cancellation.h"

namespace belay::runtime {

class BodyMaker;  // runtime/graph/body.h

// Counts the changes of a value.
using Version = std::atomic<std::uint64_t>;

struct TensorSpec {
  DType dtype = DType::kInvalid;
  Dims dims;
  // Of an input that keeps its elements from run to run, at the same place: a constant, or a variable that the plan
  // does not write. A kernel may keep what it makes of it as long as this stays; null where each run brings another.
  const Version* version = nullptr;
  std::int64_t elements() const noexcept { return count_of(dims); }
  std::size_t bytes() const noexcept { return static_cast<std::size_t>(elements()) * dtype_size(dtype); }
};

struct KernelSpec {
  const Node& node;
  std::vector<TensorSpec> inputs;
  std::vector<TensorSpec> outputs;
  int threads = 1;         // the team that runs it: always this one, so that the split of the work is always the same
  std::uint64_t seed = 0;  // of the run; random kernels mix in the node's name
  // Of a fused group: its members in order, `node` among them; empty otherwise.
  std::vector<const Node*> members = {};
  // Prepares the bodies of the node, where its operation has any.
  const BodyMaker* bodies = nullptr;
  Precision precision = Precision::kFloat32;  // of products, convolutions and recurrent cells on float32

  const Attrs& attrs() const noexcept { return node.attrs; }
};

// What a kernel may know of the run.
struct StepContext {
  std::uint64_t counter = 0;            // random streams: the global step (0 where there is none)
  const CancelToken* cancel = nullptr;  // of the run; null: nothing cancels it
};

class Kernel {
 public:
  virtual ~Kernel() = default;
  // in[i] and out[i] are the elements, 64-byte aligned unless fed by the caller. For an operation that writes
  // variables, the inputs named in OpDef.ref_inputs are the variables' own memory.
  virtual void run(void* const* in, void* const* out, const StepContext& context) = 0;
  // Of an operation that writes: called for all writes of the run before the first run(), under the exclusive gate; the
  // last point where it may fail.
  virtual void check(void* const* in, const StepContext& context) { (void)in, (void)context; }
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
