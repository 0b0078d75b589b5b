// SPDX-License-Identifier: Apache-2.0
// A stage of a plan made concrete: kernels for actual dims, memory laid out, pointers filled in. One run at a time uses
// it. Running it allocates nothing.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/platform/threads/clock.h"
#include "runtime/session/memory_layout.h"
#include "runtime/session/plan.h"

namespace belay::runtime {

// The target of a fetched value's copy. It stays until the next run that fetches it.
struct FetchBuffer {
  DenseTensor tensor;
};

struct TracedNode {
  std::string name;
  std::string op;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::size_t output_bytes = 0;
  std::uint32_t node = 0;
};

// One bit per fetch slot.
class SlotMask {
 public:
  void resize(std::size_t slots) { words_.assign((slots + 63) / 64, 0); }
  void clear() noexcept { std::fill(words_.begin(), words_.end(), 0); }
  void set(std::uint32_t slot) noexcept { words_[slot / 64] |= std::uint64_t{1} << (slot % 64); }
  bool test(std::uint32_t slot) const noexcept { return ((words_[slot / 64] >> (slot % 64)) & 1) != 0; }
  const std::vector<std::uint64_t>& words() const noexcept { return words_; }
  void add(const SlotMask& other) noexcept {
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
  }

 private:
  std::vector<std::uint64_t> words_;
};

// The memory and dims of every value of a run, by ValueId.
struct RunValuesTable {
  std::vector<void*> data;
  std::vector<const Dims*> dims;
  std::vector<const Version*> versions;  // for variables and constants, by root; else null

  explicit RunValuesTable(std::size_t n = 0) : data(n), dims(n), versions(n) {}
  void set_constant(ValueId v, const DenseTensor& tensor) {
    static const Version never_changes{0};
    set(v, tensor, never_changes);
  }
  // Sets elements that stay at their place. `version` counts their changes.
  void set(ValueId v, const DenseTensor& tensor, const Version& version) {
    data[v] = tensor.data();
    dims[v] = &tensor.dims();
    versions[v] = &version;
  }
};

class Program {
 public:
  // `values.dims` must have the dims of outside values: feeds, constants, variables, earlier stages and host kernels.
  // Errors name the node.
  Program(const NodeGraph& graph, const Plan& plan, std::uint32_t stage, const RunValuesTable& values,
          std::vector<FetchBuffer>& slots, std::uint64_t seed);

  // The dims for which it was made.
  std::vector<std::int64_t> key;
  std::size_t arena_bytes() const noexcept { return layout_.bytes; }
  std::size_t arena_bound() const noexcept { return layout_.bound; }

  // Points at `arena` and at the outside values in `values.data`. It is cheap if nothing has moved. True: the arena has
  // moved.
  bool bind(std::byte* arena, const RunValuesTable& values);
  // Writes the places and dims of its results into `values`. Call it after bind if another program ran here before.
  void publish(RunValuesTable& values) const;

  // check_writes is the last call before writes that may fail. run then makes the steps with a true condition.
  void check_writes(const SlotMask& mask, const KernelContext& context);
  void run(const SlotMask& mask, const KernelContext& context);
  void run_traced(const SlotMask& mask, const KernelContext& context, Clock& clock, std::vector<TracedNode>& stats);
  // Calls f for each variable that the last run(mask) wrote.
  template <class F>
  void for_each_written(const SlotMask& mask, F&& f) const {
    for (const std::uint32_t i : writers_)
      if (active(ops_[i], mask))
        for (const std::uint32_t v : plan_stage_.steps[ops_[i].step].written) f(v);
  }
  bool runs(const SlotMask& mask, std::size_t op) const { return active(ops_[op], mask); }
  std::size_t size() const noexcept { return ops_.size(); }

 private:
  struct Op {
    Kernel* kernel;
    std::uint32_t in;  // index in pointers_
    std::uint32_t out;
    std::uint32_t mask;  // index in masks_; kNoValue: always
    std::uint32_t step;
  };
  struct External {
    ValueId value;
    void* bound = nullptr;
    std::vector<std::uint32_t> at;  // indices in pointers_
  };
  struct ArenaPointer {
    std::uint32_t at;
    std::uint32_t value;  // index in arena_values_
  };

  void infer_dims(const NodeGraph& graph, const RunValuesTable& values);
  void make_kernels(const NodeGraph& graph, std::vector<FetchBuffer>& slots, std::uint64_t seed,
                    const RunValuesTable& values);
  void lay_out_memory();
  void fill_pointers();
  const Dims& dims_of(ValueId v, const RunValuesTable& values) const;
  TensorSpec spec_of(ValueId v, const RunValuesTable& values) const;
  bool active(const Op& op, const SlotMask& mask) const noexcept {
    if (op.mask == kNoValue) return true;
    const std::vector<std::uint64_t>& words = mask.words();
    std::uint64_t any = 0;
    for (std::size_t w = 0; w < words.size(); ++w) any |= words[w] & masks_[op.mask + w];
    return any != 0;
  }
  [[noreturn]] void fail_in(std::size_t op, const Error& error) const;

  const Plan& plan_;
  const PlanStage& plan_stage_;
  const std::uint32_t stage_;
  std::vector<std::unique_ptr<Kernel>> kernels_;
  std::vector<Op> ops_;
  std::vector<std::uint32_t> writers_;  // ops that write
  std::vector<std::uint64_t> masks_;
  std::vector<void*> pointers_;
  std::vector<External> externals_;
  std::vector<ArenaPointer> arena_pointers_;
  std::vector<ValueId> arena_values_;       // roots in the arena
  std::vector<std::uint32_t> arena_index_;  // by ValueId: index in arena_values_, or kNoValue
  MemoryLayout layout_;
  std::vector<std::pair<ValueId, Dims>> own_dims_;  // of the values of this stage
  std::vector<std::uint32_t> own_index_;            // by ValueId: index in own_dims_, or kNoValue
  std::vector<bool> written_;                       // by PlanVariable: this plan writes it
  std::byte* bound_arena_ = nullptr;
};

}  // namespace belay::runtime
