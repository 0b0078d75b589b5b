// SPDX-License-Identifier: Apache-2.0
#include "runtime/ops/kernels/elementwise_chain.h"

#include <algorithm>
#include <numeric>

#include "runtime/ops/kernels/elementwise.h"

namespace belay::runtime {
namespace {

constexpr std::int64_t kTileElements = 2048;   // elements
constexpr std::int64_t kLongestRow = 1 << 14;  // the longest row that forms a tile

// The part of an operand that a tile reads.
enum class Extent { kPart, kRow, kOne };

struct Slice {
  Extent extent = Extent::kPart;
  std::size_t element = 0;  // bytes
};

// The division of the elements into tiles.
struct Tiling {
  bool whole = false;    // true: they are not divided
  std::int64_t row = 0;  // elements of a row operand; 0: there is none
  std::int64_t tile = 0;
  std::int64_t tiles = 0;
  std::int64_t rest = 0;  // elements of the last tile
};

// The members' kernels for tiles of one size.
using Kernels = std::vector<std::unique_ptr<Kernel>>;

// A thread's kernels, scratch and pointers.
struct Worker {
  Kernels kernels;
  DenseTensor scratch;
  std::vector<void*> pointers;  // for each member its inputs, then its output
};

class ElementwiseChain final : public Kernel {
 public:
  ElementwiseChain(const KernelSpec& spec, const std::vector<std::uint32_t>& operands)
      : spec_threads_(spec.threads), n_inputs_(spec.inputs.size()), operands_(operands) {
    const std::vector<TensorSpec> values = infer_values(spec);
    const std::int64_t elements = spec.outputs[0].elements();
    cut(values, elements);
    if (elements == 0) return;
    place(spec, values);
    const std::int64_t grain =
        std::max<std::int64_t>(kCheapGrain / static_cast<std::int64_t>(spec.members.size()), kExpensiveGrain);
    parts_ = tiling_.whole
                 ? 1
                 : static_cast<int>(std::min<std::int64_t>(parts_of(elements, grain, spec.threads), tiling_.tiles));
    for (int i = 0; i < parts_; ++i) {
      Worker w;
      w.kernels = make_kernels(spec, values, tiling_.tile);
      w.scratch = DenseTensor(DType::kUInt8, {static_cast<std::int64_t>(scratch_bytes_)});
      w.pointers.assign(n_pointers_, nullptr);
      for (const auto& [at, offset] : in_scratch_) w.pointers[at] = w.scratch.data<std::byte>() + offset;
      workers_.push_back(std::move(w));
    }
    if (tiling_.rest != tiling_.tile) rest_ = make_kernels(spec, values, tiling_.rest);
  }

  void run(void* const* in, void* const* out, const KernelContext& context) override {
    if (workers_.empty()) return;
    parallel_items(tiling_.tiles, parts_, [&](std::int64_t begin, std::int64_t end, int part) {
      Worker& w = workers_[static_cast<std::size_t>(part)];
      for (const auto& [at, input] : fixed_) w.pointers[at] = in[input];
      for (std::int64_t t = begin; t < end; ++t) {
        const std::size_t first = static_cast<std::size_t>(t * tiling_.tile);
        for (const Moving& m : moving_)
          w.pointers[m.at] = static_cast<std::byte*>(m.input == kResult ? out[0] : in[m.input]) + first * m.element;
        const bool last = t + 1 == tiling_.tiles && !rest_.empty();
        const Kernels& kernels = last ? rest_ : w.kernels;
        for (std::size_t i = 0; i < kernels.size(); ++i)
          kernels[i]->run(w.pointers.data() + first_pointer_[i], w.pointers.data() + first_pointer_[i + 1] - 1,
                          context);
      }
    });
  }

 private:
  static constexpr std::uint32_t kResult = 0xffffffff;
  struct Moving {
    std::size_t at;       // index in Worker.pointers
    std::uint32_t input;  // index of the group's input, or kResult
    std::size_t element;
  };

  // Returns the group's inputs, then the output of each member.
  std::vector<TensorSpec> infer_values(const KernelSpec& spec) {
    std::vector<TensorSpec> values = spec.inputs;
    std::size_t at = 0;
    for (const Node* n : spec.members) {
      first_operand_.push_back(at);
      std::vector<DType> dtypes;
      std::vector<Shape> shapes;
      for (std::size_t i = 0; i < n->inputs.size(); ++i, ++at) {
        dtypes.push_back(values[operands_[at]].dtype);
        shapes.emplace_back(values[operands_[at]].dims);
      }
      InferContext infer(*n->op, n->name, n->attrs, std::move(dtypes), std::move(shapes));
      n->op->infer(infer);
      values.push_back({infer.outputs()[0].first, infer.outputs()[0].second.dims()});
    }
    first_operand_.push_back(at);
    return values;
  }

  // Returns the length of the row that `dims` repeats over `result`; 0: `dims` is something else.
  static std::int64_t row_of(const Dims& dims, const Dims& result) {
    std::size_t skip = 0;
    while (skip < dims.size() && dims[skip] == 1) ++skip;
    const std::size_t n = dims.size() - skip;
    if (n == 0 || n > result.size()) return 0;
    return std::equal(dims.end() - static_cast<std::ptrdiff_t>(n), dims.end(),
                      result.end() - static_cast<std::ptrdiff_t>(n))
               ? count_of(dims)
               : 0;
  }

  void cut(const std::vector<TensorSpec>& values, std::int64_t elements) {
    const Dims& result = values.back().dims;
    for (std::size_t v = 0; v < values.size(); ++v) {
      const TensorSpec& value = values[v];
      Slice slice{Extent::kPart, dtype_size(value.dtype)};
      if (value.elements() != elements) {
        const std::int64_t row = value.elements() == 1 ? 1 : row_of(value.dims, result);
        slice.extent = row == 1 ? Extent::kOne : Extent::kRow;
        const bool fits = v < n_inputs_ && row != 0 && (row == 1 || tiling_.row == 0 || tiling_.row == row);
        if (!fits) tiling_.whole = true;
        if (row > 1) tiling_.row = row;
      }
      slices_.push_back(slice);
    }
    tiling_.whole = tiling_.whole || tiling_.row > kLongestRow;
    // Tiles begin at multiples of 16 elements, like the threads' parts. So the loops' tails are at the same places.
    const std::int64_t row = std::max<std::int64_t>(tiling_.row, 1), together = 16 / std::gcd(row, std::int64_t{16});
    tiling_.tile = row * std::max(together, kTileElements / row / together * together);
    if (tiling_.whole || tiling_.tile >= elements) tiling_.tile = elements;
    tiling_.tiles = elements == 0 ? 0 : (elements + tiling_.tile - 1) / tiling_.tile;
    tiling_.rest = elements - (tiling_.tiles - 1) * tiling_.tile;
  }

  // Assigns each pointer of a worker its memory. The slot of a scratch value is free after its last use. The member
  // that uses it last may put its result there if it works in place.
  void place(const KernelSpec& spec, const std::vector<TensorSpec>& values) {
    const std::size_t members = spec.members.size();
    std::vector<std::size_t> last_use(values.size(), 0), slot(values.size(), 0);
    for (std::size_t m = 0; m < members; ++m)
      for (std::size_t k = first_operand_[m]; k < first_operand_[m + 1]; ++k) last_use[operands_[k]] = m;
    std::size_t slot_bytes = 0;
    for (std::size_t v = n_inputs_; v + 1 < values.size(); ++v)
      slot_bytes = std::max(
          slot_bytes, tiling_.whole ? values[v].bytes() : static_cast<std::size_t>(tiling_.tile) * slices_[v].element);
    slot_bytes = (slot_bytes + kAlignment - 1) / kAlignment * kAlignment;
    std::vector<std::size_t> free;
    std::size_t slots = 0;
    for (std::size_t m = 0; m < members; ++m) {
      first_pointer_.push_back(n_pointers_);
      for (std::size_t k = first_operand_[m]; k < first_operand_[m + 1]; ++k, ++n_pointers_) {
        const std::uint32_t v = operands_[k];
        if (v >= n_inputs_) {
          in_scratch_.emplace_back(n_pointers_, slot[v] * slot_bytes);
        } else if (slices_[v].extent == Extent::kPart) {
          moving_.push_back({n_pointers_, v, slices_[v].element});
        } else {
          fixed_.emplace_back(n_pointers_, v);
        }
      }
      release(spec, values, m, last_use, slot, free, true);
      const std::size_t own = n_inputs_ + m;
      if (m + 1 == members) {
        moving_.push_back({n_pointers_++, kResult, slices_[own].element});
        break;
      }
      if (free.empty()) free.push_back(slots++);
      slot[own] = free.back();
      free.pop_back();
      in_scratch_.emplace_back(n_pointers_++, slot[own] * slot_bytes);
      release(spec, values, m, last_use, slot, free, false);
    }
    first_pointer_.push_back(n_pointers_);
    scratch_bytes_ = slots * slot_bytes;
  }
  // Frees the slots of the values that member m uses last. `in_place` selects those that it may overwrite, or the
  // others.
  void release(const KernelSpec& spec, const std::vector<TensorSpec>& values, std::size_t m,
               const std::vector<std::size_t>& last_use, const std::vector<std::size_t>& slot,
               std::vector<std::size_t>& free, bool in_place) const {
    std::vector<std::uint32_t> done;
    for (std::size_t k = first_operand_[m]; k < first_operand_[m + 1]; ++k) {
      const std::uint32_t v = operands_[k];
      if (v < n_inputs_ || last_use[v] != m || std::find(done.begin(), done.end(), v) != done.end()) continue;
      done.push_back(v);
      if (works_in(spec, values, m, v) == in_place) free.push_back(slot[v]);
    }
  }
  // True if member m may write into value v. Each of its inputs that is v must allow it, and the sizes must be equal.
  bool works_in(const KernelSpec& spec, const std::vector<TensorSpec>& values, std::size_t m, std::uint32_t v) const {
    if (values[v].bytes() != values[n_inputs_ + m].bytes()) return false;
    for (std::size_t k = first_operand_[m], i = 0; k < first_operand_[m + 1]; ++k, ++i)
      if (operands_[k] == v && (i >= 32 || ((spec.members[m]->op->in_place >> i) & 1) == 0)) return false;
    return true;
  }

  Kernels make_kernels(const KernelSpec& spec, const std::vector<TensorSpec>& values, std::int64_t tile) const {
    const auto of_tile = [&](std::size_t v) -> TensorSpec {
      if (tiling_.whole) return values[v];
      const DType dtype = values[v].dtype;
      if (slices_[v].extent == Extent::kOne) return {dtype, {}};
      if (slices_[v].extent == Extent::kRow) return {dtype, {tiling_.row}};
      return tiling_.row == 0 ? TensorSpec{dtype, {tile}} : TensorSpec{dtype, {tile / tiling_.row, tiling_.row}};
    };
    Kernels kernels;
    for (std::size_t m = 0; m < spec.members.size(); ++m) {
      const Node& n = *spec.members[m];
      KernelSpec part{n, {}, {of_tile(n_inputs_ + m)}, tiling_.whole ? spec_threads_ : 1, spec.seed};
      for (std::size_t k = first_operand_[m]; k < first_operand_[m + 1]; ++k)
        part.inputs.push_back(of_tile(operands_[k]));
      kernels.push_back(n.op->kernel(part));
    }
    return kernels;
  }

  const int spec_threads_;
  const std::size_t n_inputs_;
  const std::vector<std::uint32_t> operands_;
  std::vector<std::size_t> first_operand_;  // by member, and the end
  std::vector<Slice> slices_;               // by value
  Tiling tiling_;
  int parts_ = 1;
  std::vector<std::size_t> first_pointer_;  // by member, and the end
  std::size_t n_pointers_ = 0;
  std::size_t scratch_bytes_ = 0;
  std::vector<std::pair<std::size_t, std::size_t>> in_scratch_;  // pointer, offset
  std::vector<std::pair<std::size_t, std::uint32_t>> fixed_;     // pointer and input, the same for all tiles
  std::vector<Moving> moving_;
  std::vector<Worker> workers_;
  Kernels rest_;  // for a shorter last tile
};

}  // namespace

std::unique_ptr<Kernel> make_elementwise_chain(const KernelSpec& spec, const std::vector<std::uint32_t>& operands) {
  return std::make_unique<ElementwiseChain>(spec, operands);
}

}  // namespace belay::runtime
