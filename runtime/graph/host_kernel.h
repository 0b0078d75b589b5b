// SPDX-License-Identifier: Apache-2.0
// A host kernel: an operation that waits, or whose output shape only a run shows (queues, lists of names). It runs
// between the stages of a plan, outside the store's gate, and passes whole tensors.
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
  // Returns the same input as an owned tensor. It is shared if the run owns it, else copied.
  virtual DenseTensor owned_input(std::size_t i) = 0;
  virtual void output(std::size_t i, DenseTensor value) = 0;
  // Replaces output() for all outputs of the kernel. The memory is aligned; memory and dims stay as they are until the
  // kernel runs again.
  virtual void output_view(std::size_t i, void* data, const Dims& dims) = 0;
  // For an input that names a variable.
  virtual const std::string& variable_name(std::size_t i) = 0;
  virtual bool variable_initialized(std::size_t i) = 0;
  // Returns the queue of input i's node.
  virtual Queue& queue(std::size_t i) = 0;
  // Returns the table of input i's node.
  virtual LookupTable& table(std::size_t i) = 0;
  virtual const CancelToken& cancel() = 0;
  // The run took an example of this input. `position` is the input's position after the run has committed.
  virtual void took(const std::string* input, const Position& position) = 0;
  // Returns the number of the step's batch, from 0 (PlanPasses).
  virtual std::int64_t pass() const = 0;
};

class HostKernel {
 public:
  virtual ~HostKernel() = default;
  virtual void run(HostContext& context) = 0;
};

}  // namespace belay::runtime
