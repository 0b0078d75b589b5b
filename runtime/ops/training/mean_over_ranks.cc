// SPDX-License-Identifier: Apache-2.0
// The mean of values over the processes of a step, weighted by the rows of each. The values of a step are divided among
// buckets. BeginBucket copies a bucket's weighted values into a row and hands them over to be summed while the step
// continues. The planner puts it right after the last of the values (runtime/session/early_nodes.h). MeanOverRanks
// waits for all buckets. So it lives between the stages of a plan, like operations that wait for a queue. Its results
// lie in the buckets. In a step of several batches each batch has separate weights. They are applied when the batches
// are added up, and the buckets only sum.
#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "runtime/graph/host_kernel.h"
#include "runtime/graph/kernel.h"
#include "runtime/graph/step_ranks.h"
#include "runtime/ops/kernels/parallel.h"
#include "runtime/ops/training/rank_ops.h"
#include "runtime/platform/threads/floating_point.h"

namespace belay::runtime {
namespace {

constexpr std::int64_t kRankGrain = 1 << 14;  // number of elements that are worth a thread

void infer_begin_bucket(InferContext& c) {
  const std::vector<std::int64_t>&offsets = c.attrs().integers("offsets"), &summed = c.attrs().integers("summed");
  if (c.n_inputs() < 2 || offsets.size() != c.n_inputs() - 1 || summed.size() != offsets.size())
    c.fail("expected a queue and at least one value, and an offset and a 'summed' for each");
  for (std::size_t i = 1; i < c.n_inputs(); ++i) {
    c.need_dtype(i, DType::kFloat32);
    const std::int64_t end = i < offsets.size() ? offsets[i] : c.attrs().integer("elements");
    if (offsets[i - 1] < 0 || (c.shape(i).fully_known() && c.shape(i).elements() > end - offsets[i - 1]))
      c.fail(c.input_text(i) + " does not fit between its offset and the next one");
  }
}

void infer_mean_over_ranks(InferContext& c) {
  const auto shapes = shapes_of_components(c.attrs().integers("shapes"));
  if (c.n_inputs() != 1 || !shapes || shapes->empty() || c.attrs().integers("buckets").size() != shapes->size() ||
      c.attrs().integers("offsets").size() != shapes->size())
    c.fail("expected a queue, and a bucket, an offset and a shape for each value");
  for (const Shape& shape : *shapes) {
    if (!shape.fully_known()) c.fail("a value's shape is " + shape.text() + ", which is not known");
    c.output(DType::kFloat32, shape);
  }
}

void infer_part_of_step(InferContext& c) {
  c.need_dtype(1, DType::kFloat32);
  c.output(DType::kFloat32, c.shape(1));
}

// in[0] is the queue.
class BeginBucketKernel final : public Kernel {
 public:
  explicit BeginBucketKernel(const KernelSpec& spec)
      : bucket_(static_cast<std::size_t>(spec.attrs().integer("bucket"))), threads_(spec.threads) {
    const std::vector<std::int64_t>&offsets = spec.attrs().integers("offsets"),
          &summed = spec.attrs().integers("summed");
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      const std::int64_t end = i + 1 < offsets.size() ? offsets[i + 1] : spec.attrs().integer("elements");
      const std::int64_t elements = spec.inputs[i + 1].elements();
      if (elements > end - offsets[i])
        fail(Code::kInvalidArgument, fmt::format("input {} has {} elements, and its bucket has room for {}", i + 1,
                                                 elements, end - offsets[i]));
      values_.push_back({offsets[i], elements, summed[i] != 0});
    }
  }

  void run(void* const* in, void* const*, const KernelContext&) override {
    auto* const queue = static_cast<Queue*>(in[0]);
    if (queue != queue_) ranks_ = &ranks_behind(*queue), queue_ = queue;
    float* const memory = ranks_->bucket(bucket_);
    const auto share = static_cast<float>(ranks_->share());
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const Value& v = values_[i];
      fill(input<float>(in, i + 1), v.summed ? 1 : share, memory + v.offset, v.elements, threads_);
    }
    ranks_->begin(bucket_);
  }

 private:
  struct Value {
    std::int64_t offset, elements;
    bool summed;
  };
  // A rank without rows adds nothing, whatever its values are: NaN times 0 would be NaN.
  static void fill(const float* from, float share, float* to, std::int64_t n, int threads) {
    parallel_for(n, kRankGrain, threads, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t k = begin; k < end; ++k) to[k] = share == 0 ? 0 : from[k] * share;
    });
  }

  const std::size_t bucket_;
  const int threads_;
  std::vector<Value> values_;
  Queue* queue_ = nullptr;
  StepRanks* ranks_ = nullptr;
};

class MeanOverRanksKernel final : public HostKernel {
 public:
  explicit MeanOverRanksKernel(const KernelSpec& spec)
      : buckets_(spec.attrs().integers("buckets")), offsets_(spec.attrs().integers("offsets")) {
    for (const auto& [dtype, shape] : spec.node.outputs) dims_.push_back(shape.dims());
  }

  void run(HostContext& context) override {
    if (ranks_ == nullptr) ranks_ = &ranks_behind(context.queue(0));
    ranks_->wait();
    for (std::size_t i = 0; i < dims_.size(); ++i)
      context.output_view(i, ranks_->bucket(static_cast<std::size_t>(buckets_[i])) + offsets_[i], dims_[i]);
  }

 private:
  const std::vector<std::int64_t> buckets_, offsets_;
  std::vector<Dims> dims_;
  StepRanks* ranks_ = nullptr;
};

// Sums in the batches' order. A batch without a row in this process adds nothing, whatever its values are.
class PartOfStepKernel final : public HostKernel {
 public:
  explicit PartOfStepKernel(const KernelSpec& spec)
      : batches_(spec.attrs().integer("batches")), threads_(spec.threads) {}

  void run(HostContext& context) override {
    const TensorView x = context.input(1);
    const auto share = static_cast<float>(ranks_behind(context.queue(0)).share() / static_cast<double>(batches_));
    const bool first = context.pass() == 0;
    if (first && (!sum_ || !fits(x) || sum_.shared())) sum_ = DenseTensor(DType::kFloat32, x.dims());
    if (!fits(x))
      fail(Code::kInvalidArgument, "the value of one batch of the step is of shape " + dims_text(sum_.dims()) +
                                       ", that of a later one of " + dims_text(x.dims()) + "; a mean needs the same");
    const KernelMode mode;
    add(x.data<const float>(), share, first, sum_.data<float>(), sum_.elements(), threads_);
    context.output(0, sum_);
  }

 private:
  bool fits(const TensorView& x) const noexcept {
    const Dims& dims = sum_.dims();
    return std::equal(dims.begin(), dims.end(), x.raw().dims, x.raw().dims + x.rank());
  }
  static void add(const float* x, float share, bool first, float* sum, std::int64_t n, int threads) {
    parallel_for(n, kRankGrain, threads, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t k = begin; k < end; ++k) {
        const float part = share == 0 ? 0 : x[k] * share;
        sum[k] = first ? part : sum[k] + part;
      }
    });
  }

  const std::int64_t batches_;
  const int threads_;
  DenseTensor sum_;
};

std::unique_ptr<Kernel> make_begin_bucket(const KernelSpec& spec) { return std::make_unique<BeginBucketKernel>(spec); }

std::unique_ptr<HostKernel> make_part_of_step(const KernelSpec& spec) {
  return std::make_unique<PartOfStepKernel>(spec);
}

std::unique_ptr<HostKernel> make_mean_over_ranks(const KernelSpec& spec) {
  return std::make_unique<MeanOverRanksKernel>(spec);
}

}  // namespace

StepRanks& ranks_behind(Queue& queue) {
  auto* of_ranks = dynamic_cast<QueueOfRanks*>(&queue);
  if (of_ranks == nullptr) fail(Code::kFailedPrecondition, "the queue is one of a single process");
  return of_ranks->ranks();
}

void add_rank_ops(OpRegistry& r) {
  r.add({.name = "BeginBucket",
         .doc =
             "Hands values over to be summed over the processes that take the elements of the queue together, weighted "
             "by their rows. It runs as soon as the last of them is there, and does not wait; MeanOverRanks does.",
         .inputs = "queue, xs...",
         .dtypes = "float32",
         .n_inputs = -1,
         .attrs = {int_attr("bucket", "its number: buckets are begun in the order of their numbers").at_least(0),
                   int_attr("elements", "of all values together").at_least(1),
                   ints_attr("offsets", "where each value begins among them"),
                   ints_attr("summed", "1 for each value that is summed as it is: it has its weight"),
                   bool_attr("gradients", "all values are gradients, which may be rounded on the way")},
         .effect = Effect::kState,
         .ref_inputs = 1,
         .infer = infer_begin_bucket,
         .stops_gradient = true,
         .kernel = make_begin_bucket});
  r.add({.name = "MeanOverRanks",
         .doc =
             "Waits until all buckets (BeginBucket) are summed: the means of their values over the processes, weighted "
             "by their rows. Each process has the same bits afterwards. They are there until the next step begins a "
             "bucket.",
         .inputs = "queue",
         .dtypes = "float32",
         .n_inputs = 1,
         .attrs = {ints_attr("buckets", "the bucket that each value is in"),
                   ints_attr("offsets", "where each value begins in its bucket"),
                   ints_attr("shapes", "of each value the rank, followed by as many dimensions"),
                   int_attr("batches", "of each process in a step: for who asks how large a step is")
                       .at_least(1)
                       .defaults_to(1),
                   int_attr("ranks", "the processes: for who asks how large a step is").at_least(1).defaults_to(1)},
         .effect = Effect::kBlocking,
         .ref_inputs = 1,
         .infer = infer_mean_over_ranks,
         .stops_gradient = true,
         .host_kernel = make_mean_over_ranks});
  r.add({.name = "PartOfStep",
         .doc =
             "This process's part of a mean over all rows of a step of several batches, which the sum over the "
             "processes makes whole: what x depends on runs `batches` times in a run, each time with the next batch of "
             "the queue, and counts by the part of the batch's rows that are this process's.",
         .inputs = "queue, x",
         .dtypes = "float32",
         .n_inputs = 2,
         .attrs = {int_attr("batches", "how many make a step").at_least(2)},
         .role = Role::kStepMean,
         .effect = Effect::kState,
         .ref_inputs = 1,
         .infer = infer_part_of_step,
         .stops_gradient = true,
         .host_kernel = make_part_of_step});
  add_rows_over_ranks_ops(r);
}

}  // namespace belay::runtime
