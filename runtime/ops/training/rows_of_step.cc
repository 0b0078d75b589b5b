// SPDX-License-Identifier: Apache-2.0
// Sparse gradients (rows with ids, runtime/ops/array/indexed_slices.cc) of several batches or processes. Each operation
// puts the rows of all of them one after the other, and SumIndexedSlices then sums those of one id in this order. So
// a sum has a fixed order: by process or batch. The shapes of the results depend only on the shapes of the batches,
// because the plan of a stage depends on shapes. Places without a row have the id -1.
#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "runtime/graph/host_kernel.h"
#include "runtime/graph/kernel.h"
#include "runtime/graph/step_ranks.h"
#include "runtime/ops/kernels/dtypes.h"
#include "runtime/ops/kernels/parallel.h"
#include "runtime/ops/registry.h"
#include "runtime/ops/training/rank_ops.h"
#include "runtime/platform/threads/floating_point.h"

namespace belay::runtime {
namespace {

constexpr std::int64_t kRowsGrain = 1 << 14;  // number of elements that are worth a thread
constexpr std::int64_t kNoRow = -1;

std::int64_t rows_worth_a_thread(std::int64_t width) { return kRowsGrain / std::max<std::int64_t>(1, width) + 1; }

// Checks indices as SumIndexedSlices makes them, and their rows in the next input.
void need_rows(InferContext& c, std::size_t indices) {
  c.need_dtype(indices, DType::kInt64);
  c.need_rank(indices, 1);
  const Shape& rows = c.shape(indices + 1);
  if (rows.has_rank() && rows.rank() == 0) c.fail(c.input_text(indices + 1) + " must have at least one dimension");
  if (rows.has_rank() && !Shape::compatible(Shape{rows.dim(0)}, c.shape(indices)))
    c.fail(c.input_text(indices + 1) + " must have a row for each of " + c.input_text(indices));
}

Shape any_number_of(Shape rows) {
  if (rows.has_rank()) rows.set_dim(0, -1);
  return rows;
}

void infer_slices_of_step(InferContext& c) {
  if (c.n_inputs() != 2 && c.n_inputs() != 3)
    c.fail(fmt::format("expected indices and rows, and a queue in a step of several processes, got {} inputs",
                       c.n_inputs()));
  need_rows(c, 0);
  c.need_float(1);
  if (c.n_inputs() == 3) c.need_dtype(1, DType::kFloat32);
  c.output(DType::kInt64, Shape{-1});
  c.output(c.dtype(1), any_number_of(c.shape(1)));
}

void infer_begin_rows(InferContext& c) {
  need_rows(c, 1);
  c.need_dtype(2, DType::kFloat32);
}

void infer_rows_over_ranks(InferContext& c) {
  Dims dims = c.attrs().integers("row");
  dims.insert(dims.begin(), -1);
  c.output(DType::kInt64, Shape{-1});
  c.output(DType::kFloat32, Shape(std::move(dims)));
}

// Returns how many of the n indices name a row. The rest is -1.
std::int64_t named_rows(const std::int64_t* indices, std::int64_t n) {
  return std::find(indices, indices + n, kNoRow) - indices;
}

// Rows with their ids, in memory that only grows. The places after the last row have the id -1 and zeros.
class RowList {
 public:
  void begin(DType dtype, const std::int64_t* row_dims, std::size_t n) {
    if (dims_.size() != n + 1 || dtype != dtype_ || !std::equal(row_dims, row_dims + n, dims_.begin() + 1)) {
      dtype_ = dtype;
      dims_.assign(1, 0);
      dims_.insert(dims_.end(), row_dims, row_dims + n);
      width_ = count_of(Dims(row_dims, row_dims + n));
      room_ = filled_ = count_ = 0;
    }
    filled_ = std::max(filled_, count_);
    count_ = dims_[0] = 0;
  }
  // Makes room for more rows.
  void add_room(std::int64_t rows) {
    dims_[0] += rows;
    if (dims_[0] > room_ || !ids_) grow(dims_[0]);
  }
  // Takes more rows, at most the room that is left, and returns the number of the first one.
  std::int64_t take(std::int64_t rows) noexcept { return std::exchange(count_, count_ + rows); }
  std::int64_t width() const noexcept { return width_; }
  std::int64_t* ids() const noexcept { return ids_.data<std::int64_t>(); }
  template <class T>
  T* row(std::int64_t i) const noexcept {
    return rows_.data<T>() + i * width_;
  }
  // Writes them to outputs 0 and 1.
  void give(HostContext& context) {
    ids_dims_.assign(1, dims_[0]);
    std::fill(ids() + count_, ids() + dims_[0], kNoRow);
    if (filled_ > count_)
      std::memset(static_cast<char*>(rows_.data()) + bytes_of(count_), 0, bytes_of(filled_) - bytes_of(count_));
    filled_ = count_;
    context.output_view(0, ids_.data(), ids_dims_);
    context.output_view(1, rows_.data(), dims_);
  }

 private:
  std::size_t bytes_of(std::int64_t rows) const noexcept {
    return static_cast<std::size_t>(rows * width_) * dtype_size(dtype_);
  }
  void grow(std::int64_t room) {
    Dims dims = dims_;
    dims[0] = room;
    DenseTensor ids(DType::kInt64, Dims{room}), rows(dtype_, dims);
    if (rows.bytes() != 0) std::memset(rows.data(), 0, rows.bytes());
    if (count_ > 0) {
      std::memcpy(ids.data(), ids_.data(), static_cast<std::size_t>(count_) * sizeof(std::int64_t));
      std::memcpy(rows.data(), rows_.data(), bytes_of(count_));
    }
    ids_ = std::move(ids), rows_ = std::move(rows);
    room_ = room;
    filled_ = count_;
  }

  DType dtype_ = DType::kInvalid;
  Dims dims_, ids_dims_;  // of the rows with their room, and of the ids
  std::int64_t width_ = 0, room_ = 0;
  std::int64_t count_ = 0, filled_ = 0;  // rows of this step; rows that are not zero, perhaps of an earlier step
  DenseTensor ids_, rows_;
};

class SlicesOfStepKernel final : public HostKernel {
 public:
  explicit SlicesOfStepKernel(const KernelSpec& spec)
      : batches_(spec.attrs().integer("batches")), over_ranks_(spec.node.inputs.size() == 3), threads_(spec.threads) {}

  void run(HostContext& context) override {
    const TensorView indices = context.input(0), rows = context.input(1);
    if (context.pass() == 0) list_.begin(rows.dtype(), rows.raw().dims + 1, static_cast<std::size_t>(rows.rank()) - 1);
    const auto n = static_cast<std::int64_t>(indices.size());
    list_.add_room(n);
    const double share = over_ranks_ ? ranks_behind(context.queue(2)).share() / static_cast<double>(batches_) : 1;
    // A batch without a row in this process adds nothing, whatever its values are.
    const std::int64_t named = share == 0 ? 0 : named_rows(indices.data<const std::int64_t>(), n);
    const KernelMode mode;
    if (rows.dtype() == DType::kFloat32) {
      add(indices, rows.data<const float>(), named, static_cast<float>(share));
    } else {
      add(indices, rows.data<const double>(), named, share);
    }
    list_.give(context);
  }

 private:
  template <class T>
  void add(const TensorView& indices, const T* rows, std::int64_t named, T share) {
    const std::int64_t first = list_.take(named), width = list_.width();
    std::copy_n(indices.data<const std::int64_t>(), named, list_.ids() + first);
    T* const to = list_.template row<T>(first);
    parallel_for(named, rows_worth_a_thread(width), threads_, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t k = begin * width; k < end * width; ++k) to[k] = rows[k] * share;
    });
  }

  const std::int64_t batches_;
  const bool over_ranks_;
  const int threads_;
  RowList list_;
};

// in[0] is the queue.
class BeginRowsKernel final : public Kernel {
 public:
  explicit BeginRowsKernel(const KernelSpec& spec)
      : bucket_(static_cast<std::size_t>(spec.attrs().integer("bucket"))),
        width_(spec.attrs().integer("elements")),
        room_(spec.inputs[1].dims[0]),
        weighted_(spec.attrs().flag("summed")),
        threads_(spec.threads) {
    if (spec.inputs[2].elements() != room_ * width_)
      fail(Code::kInvalidArgument, fmt::format("the rows have shape {}, must be {} rows of {} elements",
                                               dims_text(spec.inputs[2].dims), room_, width_));
  }

  void run(void* const* in, void* const*, const KernelContext&) override {
    auto* const queue = static_cast<Queue*>(in[0]);
    if (queue != queue_) ranks_ = &ranks_behind(*queue), queue_ = queue;
    const auto share = weighted_ ? 1.0F : static_cast<float>(ranks_->share());
    const auto* const ids = input<std::int64_t>(in, 1);
    const auto* const rows = input<float>(in, 2);
    // A rank without rows adds nothing, whatever its values are.
    const std::int64_t count = share == 0 ? 0 : named_rows(ids, room_);
    const std::int64_t record = kFloatsOfId + width_;
    float* const to = ranks_->records(bucket_, count, room_);
    parallel_for(count, rows_worth_a_thread(width_), threads_, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i) {
        std::memcpy(to + i * record, ids + i, sizeof(ids[i]));
        for (std::int64_t k = 0; k < width_; ++k) to[i * record + kFloatsOfId + k] = rows[i * width_ + k] * share;
      }
    });
    ranks_->begin(bucket_);
  }

 private:
  const std::size_t bucket_;
  const std::int64_t width_, room_;
  const bool weighted_;
  const int threads_;
  Queue* queue_ = nullptr;
  StepRanks* ranks_ = nullptr;
};

class RowsOverRanksKernel final : public HostKernel {
 public:
  explicit RowsOverRanksKernel(const KernelSpec& spec)
      : bucket_(static_cast<std::size_t>(spec.attrs().integer("bucket"))), row_(spec.attrs().integers("row")) {}

  void run(HostContext& context) override {
    if (ranks_ == nullptr) ranks_ = &ranks_behind(context.queue(0));
    ranks_->wait();
    const RowsOfRanks all = ranks_->rows(bucket_);
    list_.begin(DType::kFloat32, row_.data(), row_.size());
    list_.add_room(all.room);
    const std::int64_t width = list_.width(), record = kFloatsOfId + width;
    for (std::int64_t i = 0; i < all.count; ++i) {
      std::int64_t id;
      std::memcpy(&id, all.records + i * record, sizeof(id));
      if (id == kNoRow) continue;
      const std::int64_t at = list_.take(1);
      list_.ids()[at] = id;
      std::copy_n(all.records + i * record + kFloatsOfId, width, list_.row<float>(at));
    }
    list_.give(context);
  }

 private:
  const std::size_t bucket_;
  const Dims row_;
  RowList list_;
  StepRanks* ranks_ = nullptr;
};

std::unique_ptr<HostKernel> make_slices_of_step(const KernelSpec& spec) {
  return std::make_unique<SlicesOfStepKernel>(spec);
}

std::unique_ptr<Kernel> make_begin_rows(const KernelSpec& spec) { return std::make_unique<BeginRowsKernel>(spec); }

std::unique_ptr<HostKernel> make_rows_over_ranks(const KernelSpec& spec) {
  return std::make_unique<RowsOverRanksKernel>(spec);
}

}  // namespace

void add_slices_of_step_op(OpRegistry& r) {
  r.add({.name = "SlicesOfStep",
         .doc =
             "The rows of all batches of one step, with their indices (of SumIndexedSlices), one batch after the "
             "other: what they depend on runs `batches` times in a run, each time with the next batch of the queues. "
             "Places without a row have the index -1. With a queue, the elements are multiplied by this process's part "
             "of the rows of the step. Outputs: the indices (int64), the rows.",
         .inputs = "indices, rows, queue...",
         .dtypes = "floats; indices int64",
         .n_inputs = -1,
         .attrs = {int_attr("batches", "how many make a step").at_least(2)},
         .role = Role::kStepMean,
         .effect = Effect::kState,
         .ref_inputs = 4,
         .infer = infer_slices_of_step,
         .stops_gradient = true,
         .host_kernel = make_slices_of_step});
}

void add_rows_over_ranks_ops(OpRegistry& r) {
  r.add({.name = "BeginRows",
         .doc =
             "Hands rows with their indices (of SumIndexedSlices) over to be gathered from the processes that take the "
             "elements of the queue together, weighted by the rows of their batches. It runs as soon as they are "
             "there, and does not wait; RowsOverRanks does.",
         .inputs = "queue, indices, rows",
         .dtypes = "float32; indices int64",
         .n_inputs = 3,
         .attrs = {int_attr("bucket", "its number among the buckets of BeginBucket, too").at_least(0),
                   int_attr("elements", "of a row").at_least(0), bool_attr("summed", "the rows have their weight")},
         .effect = Effect::kState,
         .ref_inputs = 1,
         .infer = infer_begin_rows,
         .stops_gradient = true,
         .kernel = make_begin_rows});
  r.add({.name = "RowsOverRanks",
         .doc =
             "Waits until all buckets (BeginBucket, BeginRows) are exchanged: the rows of all processes with their "
             "indices, one process after the other. Places without a row have the index -1. Each process has the same "
             "bits. Outputs: the indices (int64), the rows.",
         .inputs = "queue",
         .dtypes = "float32; indices int64",
         .n_inputs = 1,
         .attrs = {int_attr("bucket", "that BeginRows has filled").at_least(0),
                   ints_attr("row", "the dimensions of a row")},
         .effect = Effect::kBlocking,
         .ref_inputs = 1,
         .infer = infer_rows_over_ranks,
         .stops_gradient = true,
         .host_kernel = make_rows_over_ranks});
}

}  // namespace belay::runtime
