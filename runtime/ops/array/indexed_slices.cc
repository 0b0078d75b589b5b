// SPDX-License-Identifier: Apache-2.0
// The gradient of gathers as rows with their ids: TensorFlow's IndexedSlices, with duplicates summed.
#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <string>

#include "runtime/graph/kernel.h"
#include "runtime/ops/kernels/dtypes.h"
#include "runtime/ops/kernels/hot.h"
#include "runtime/ops/kernels/parallel.h"
#include "runtime/ops/registry.h"

namespace belay::runtime {
namespace {

constexpr std::int64_t kSumGrain = 1 << 14;  // elements that are worth a thread
constexpr std::int64_t kNoRow = -1;

// Returns the dimensions of the rows that the indices name: those of the indices, then those of a row of the table.
Shape slices_of_table(const Shape& table, const Shape& indices) {
  if (!table.has_rank() || !indices.has_rank()) return Shape::unknown();
  Dims dims = indices.dims();
  dims.insert(dims.end(), table.dims().begin() + 1, table.dims().end());
  return Shape(std::move(dims));
}

void infer_sum_indexed_slices(InferContext& c) {
  if (c.n_inputs() < 3 || c.n_inputs() % 2 == 0)
    c.fail(fmt::format("expected a table, and slices with their indices, got {} inputs", c.n_inputs()));
  c.need_float(0);
  const Shape& table = c.shape(0);
  if (table.has_rank() && table.rank() == 0) c.fail(c.input_text(0) + " must have at least one dimension");
  std::int64_t picks = 0;
  for (std::size_t i = 1; i < c.n_inputs(); i += 2) {
    c.need_same_dtype(0, i);
    if (c.dtype(i + 1) != DType::kInt32 && c.dtype(i + 1) != DType::kInt64)
      c.fail(c.input_text(i + 1) + " must be int32 or int64");
    if (!Shape::compatible(slices_of_table(table, c.shape(i + 1)), c.shape(i)))
      c.fail(c.input_text(i) + " is not what " + c.input_text(i + 1) + " picks from " + c.input_text(0));
    const std::int64_t of_part = c.shape(i + 1).elements();
    picks = picks < 0 || of_part < 0 ? -1 : picks + of_part;
  }
  const std::int64_t entries = table.has_rank() ? table.dim(0) : -1;
  const std::int64_t rows = picks < 0 || entries < 0 ? -1 : std::min(picks, entries);
  c.output(DType::kInt64, Shape{rows});
  c.output(c.dtype(0), slices_of_table(table, Shape{rows}));
}

// One slice of the inputs: its id, and its place in the row of all slices.
struct Pick {
  std::int64_t id, at;
};

// Sorts by ids and keeps the order of equal ones. It takes one pass for each byte of the largest id.
class PickSorter {
 public:
  PickSorter(std::int64_t picks, std::int64_t entries)
      : picks_(static_cast<std::size_t>(picks)),
        other_(picks_.size()),
        bits_(std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(entries - 1, 1)))) {}
  std::vector<Pick>& picks() noexcept { return picks_; }
  // Sorts the first `count` picks.
  void sort(std::size_t count) {
    for (int shift = 0; shift < bits_; shift += kDigit) {
      std::size_t begins[1 << kDigit] = {};
      for (std::size_t i = 0; i < count; ++i) ++begins[digit(picks_[i], shift)];
      std::size_t next = 0;
      for (std::size_t& begin : begins) next += std::exchange(begin, next);
      for (std::size_t i = 0; i < count; ++i) other_[begins[digit(picks_[i], shift)]++] = picks_[i];
      picks_.swap(other_);
    }
  }

 private:
  static constexpr int kDigit = 8;  // bits
  static std::size_t digit(const Pick& p, int shift) noexcept {
    return static_cast<std::size_t>(p.id >> shift) & ((1 << kDigit) - 1);
  }
  std::vector<Pick> picks_, other_;
  const int bits_;
};

template <class T>
[[gnu::always_inline]] inline void add_row(const T* from, T* to, std::int64_t n) {
#pragma omp simd
  for (std::int64_t j = 0; j < n; ++j) to[j] += from[j];
}

// Each id's slices are summed as GatherGrad and AddN would: those of one gather from 0 on in their order, then the sums
// of the gathers in theirs. One thread makes a whole row, so the number of threads changes no bit.
template <class T>
class SumIndexedSlicesKernel final : public Kernel {
 public:
  explicit SumIndexedSlicesKernel(const KernelSpec& spec)
      : entries_(spec.inputs[0].dims[0]),
        most_rows_(spec.outputs[0].dims[0]),
        parts_(parts_of_inputs(spec)),
        sorter_(parts_.back().end, entries_),
        begins_(static_cast<std::size_t>(most_rows_ + 1)),
        padded_(spec.attrs().flag("padded")),
        threads_(spec.threads) {
    for (std::size_t i = 1; i < spec.inputs[0].dims.size(); ++i) width_ *= spec.inputs[0].dims[i];
    if (parts_.size() > 1) part_sums_.resize(static_cast<std::size_t>(threads_ * width_));
  }

  void run(void* const* in, void* const* out, const KernelContext&) override {
    std::int64_t begin = 0;
    count_ = 0;
    for (const Part& part : parts_) {
      if (part.wide) {
        take(input<std::int64_t>(in, part.indices), begin, part.end);
      } else {
        take(input<std::int32_t>(in, part.indices), begin, part.end);
      }
      begin = part.end;
    }
    sorter_.sort(count_);
    auto* const ids = output<std::int64_t>(out, 0);
    const std::int64_t rows = find_rows(ids);
    T* const sums = output<T>(out, 1);
    parallel_for(rows, kSumGrain / std::max<std::int64_t>(1, width_) + 1, threads_,
                 [&](std::int64_t first, std::int64_t last, int thread) {
                   for (std::int64_t row = first; row < last; ++row) sum_row(in, row, sums + row * width_, thread);
                 });
    std::fill(ids + rows, ids + most_rows_, kNoRow);
    std::fill(sums + rows * width_, sums + most_rows_ * width_, T(0));
  }

 private:
  struct Part {
    std::size_t indices;  // the input; its slices are the input before it
    std::int64_t end;     // of the part among all picks
    bool wide;            // its indices are int64
  };

  static std::vector<Part> parts_of_inputs(const KernelSpec& spec) {
    std::vector<Part> parts;
    std::int64_t end = 0;
    for (std::size_t i = 2; i < spec.inputs.size(); i += 2) {
      end += spec.inputs[i].elements();
      parts.push_back({i, end, spec.inputs[i].dtype == DType::kInt64});
    }
    return parts;
  }
  template <class Index>
  void take(const Index* indices, std::int64_t begin, std::int64_t end) {
    Pick* const picks = sorter_.picks().data();
    for (std::int64_t at = begin; at < end; ++at) {
      const std::int64_t id = indices[at - begin];
      if (padded_ && id == kNoRow) continue;
      if (id < 0 || id >= entries_)
        fail(Code::kInvalidArgument,
             fmt::format("index {} at position {} is not in [0, {})", id, at - begin, entries_));
      picks[count_++] = {id, at};
    }
  }
  // Writes each id once, and returns their number. Row i has the picks from begins_[i] to begins_[i + 1].
  std::int64_t find_rows(std::int64_t* ids) {
    const std::vector<Pick>& picks = sorter_.picks();
    std::size_t rows = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      if (i > 0 && picks[i].id == picks[i - 1].id) continue;
      begins_[rows] = static_cast<std::int64_t>(i);
      ids[rows++] = picks[i].id;
    }
    begins_[rows] = static_cast<std::int64_t>(count_);
    return static_cast<std::int64_t>(rows);
  }
  void sum_row(void* const* in, std::int64_t row, T* sum, int thread) {
    const Pick* pick = sorter_.picks().data() + begins_[static_cast<std::size_t>(row)];
    const Pick* const end = sorter_.picks().data() + begins_[static_cast<std::size_t>(row) + 1];
    std::int64_t begin = 0;
    T* to = sum;
    for (const Part& part : parts_) {
      if (pick != end && pick->at < part.end) {
        std::fill_n(to, width_, T(0));
        for (; pick != end && pick->at < part.end; ++pick)
          hot<T, add_row<T>>(input<T>(in, part.indices - 1) + (pick->at - begin) * width_, to, width_);
        if (to != sum) hot<T, add_row<T>>(static_cast<const T*>(to), sum, width_);
        if (parts_.size() > 1) to = part_sums_.data() + thread * width_;
      }
      begin = part.end;
    }
  }

  const std::int64_t entries_, most_rows_;
  const std::vector<Part> parts_;
  PickSorter sorter_;
  std::vector<std::int64_t> begins_;
  std::int64_t width_ = 1;
  std::vector<T> part_sums_;  // a row for each thread
  std::size_t count_ = 0;     // of the picks of this run
  const bool padded_;
  const int threads_;
};

}  // namespace

void add_sparse_ops(OpRegistry& r) {
  r.add({.name = "SumIndexedSlices",
         .doc = "The gradient of gathers from a table (of which only the shape matters) as rows with ids: for each id "
                "among the indices, ascending, the sum of its slices. There are as many rows as indices, but at most "
                "those of the table: after those of the ids come rows of zeros with the id -1. Outputs: the ids "
                "(int64), the rows.",
         .inputs = "table, slices, indices...",
         .dtypes = "floats; indices int32, int64",
         .n_inputs = -1,
         .attrs = {bool_attr("padded", "slices with the index -1 are left out")},
         .shape_inputs = 1,
         .infer = infer_sum_indexed_slices,
         .stops_gradient = true,
         .kernel = make_typed<SumIndexedSlicesKernel>});
}

}  // namespace belay::runtime
