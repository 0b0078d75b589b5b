// SPDX-License-Identifier: Apache-2.0
// A host kernel: an operation that waits, or whose output's shape is known only when it has run (queues, lists of
// names). It runs between the segments of a plan, outside the store's gate, and hands over whole tensors.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "belay/input.h"
#include "runtime/graph/lookup_table.h"
#include "runtime/graph/node_graph.h"
#include "runtime/graph/queue.h"

namespace belay::runtime {

class HostContext {
 public:
  virtual ~HostContext() = default;
  virtual TensorView input(std::size_t i) = 0;
  // The same as an owned tensor: shared where the run owns it, else copied.
  virtual DenseTensor owned_input(std::size_t i) = 0;
  virtual void output(std::size_t i, DenseTensor value) = 0;
  // Instead, for all outputs of the kernel: memory, aligned, and dims that stay as they are until it runs again.
  virtual void output_view(std::size_t i, void* data, const Dims& dims) = 0;
  // Of an input that names a variable.
  virtual const std::string& variable_name(std::size_t i) = 0;
  virtual bool variable_initialized(std::size_t i) = 0;
  // The queue of input i's node.
  virtual Queue& queue(std::size_t i) = 0;
  // The table of input i's node.
  virtual LookupTable& table(std::size_t i) = 0;
  virtual const CancelToken& cancel() = 0;
  // The run took an example of this input: the input's position once the run has committed.
  virtual void took(const std::string* input, const Position& position) = 0;
  // Which batch of the step this is, from 0 (PlanPasses).
  virtual std::int64_t pass() const = 0;
};

class HostKernel {
 public:
  virtual ~HostKernel() = default;
  virtual void run(HostContext& context) = 0;
};

}  // namespace belay::runtime
