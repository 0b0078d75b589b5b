// SPDX-License-Identifier: Apache-2.0
#include "runtime/cluster/gradient_buckets.h"

#include <fmt/core.h>

#include <pthread.h>

#include <cstring>
#include <exception>
#include <string>
#include <utility>

#include "runtime/graph/node_graph.h"
#include "runtime/platform/threads/floating_point.h"

namespace belay::runtime {

GradientBuckets::GradientBuckets(std::vector<Size> sizes, Sum sum, Interrupt interrupt, Gather gather)
    : sizes_(std::move(sizes)),
      sum_(std::move(sum)),
      interrupt_(std::move(interrupt)),
      gather_(std::move(gather)),
      times_(sizes_.size()) {
  for (const Size& size : sizes_) {
    rows_.emplace_back(size.rows ? size.elements : 0, gather_.ranks);
    DenseTensor& memory = memory_.emplace_back(DType::kFloat32, Dims{size.rows ? 0 : size.elements});
    if (memory.bytes() != 0) std::memset(memory.data(), 0, memory.bytes());
  }
  thread_ = std::thread([this] { work(); });
}

GradientBuckets::~GradientBuckets() {
  if (done_.load(std::memory_order_acquire) != begun_.load(std::memory_order_relaxed)) interrupt_();
  ends_.store(true, std::memory_order_relaxed);
  begun_.fetch_add(1, std::memory_order_release);
  begun_.notify_one();
  thread_.join();
}

void GradientBuckets::begin(std::size_t bucket) {
  if (bucket != next_)
    fail(Code::kFailedPrecondition,
         fmt::format("[B5106] bucket {} of the gradients is ready, and it is the turn of bucket {}: an earlier step "
                     "has ended in the middle of its exchange with the other ranks",
                     bucket, next_));
  next_ = bucket + 1 == sizes_.size() ? 0 : bucket + 1;
  begun_.fetch_add(1, std::memory_order_release);
  begun_.notify_one();
}

void GradientBuckets::wait() {
  const std::uint32_t all = begun_.load(std::memory_order_relaxed);
  for (std::uint32_t done; (done = done_.load(std::memory_order_acquire)) != all;)
    done_.wait(done, std::memory_order_acquire);
  if (failure_) throw Error(*failure_);
}

void GradientBuckets::work() {
  ::pthread_setname_np(::pthread_self(), "belay-ranks");
  const KernelMode mode;
  for (std::size_t bucket = 0;; bucket = bucket + 1 == sizes_.size() ? 0 : bucket + 1) {
    begun_.wait(done_.load(std::memory_order_relaxed), std::memory_order_acquire);
    if (ends_.load(std::memory_order_relaxed)) return;
    if (!failure_) exchange(bucket);
    done_.fetch_add(1, std::memory_order_release);
    done_.notify_one();
  }
}

void GradientBuckets::exchange(std::size_t bucket) {
  const Clock* const clock = clock_;
  if (clock != nullptr) times_[bucket].first = clock->monotonic_ns();
  try {
    if (sizes_[bucket].rows) {
      rows_[bucket].gather(gather_.call);
    } else {
      sum_(TensorView(memory_[bucket].view()), sizes_[bucket].gradients);
    }
  } catch (const Error& e) {
    failure_ = e;
  } catch (const std::exception& e) {
    failure_ = Error(Code::kInternal, e.what());
  }
  if (clock != nullptr) times_[bucket].second = clock->monotonic_ns();
}

std::optional<LossMarks> add_loss_marks(const NodeGraph& graph, int ranks, std::vector<GradientBuckets::Size>& sizes) {
  constexpr std::int64_t kLine = 16;  // elements of a cache line, which each value of a bucket begins
  const auto loss = graph.roles().find("loss");
  if (loss == graph.roles().end()) return std::nullopt;
  const Node& means = graph.node(loss->second.node);
  if (means.op->name != "MeanOverRanks") return std::nullopt;
  const auto bucket = static_cast<std::size_t>(means.attrs.integers("buckets")[loss->second.index]);
  const LossMarks marks{bucket, means.attrs.integers("offsets")[loss->second.index], sizes[bucket].elements};
  sizes[bucket].elements += (ranks + kLine - 1) / kLine * kLine;
  return marks;
}

std::vector<GradientBuckets::Size> buckets_of(const NodeGraph& graph) {
  std::vector<GradientBuckets::Size> sizes;
  for (std::uint32_t id = 0; id < graph.size(); ++id) {
    const Node& n = graph.node(id);
    const bool rows = n.op->name == "BeginRows";
    if (!rows && n.op->name != "BeginBucket") continue;
    const auto bucket = static_cast<std::size_t>(n.attrs.integer("bucket"));
    if (sizes.size() <= bucket) sizes.resize(bucket + 1);
    sizes[bucket] = {n.attrs.integer("elements"), rows || n.attrs.flag("gradients"), rows};
  }
  return sizes;
}

}  // namespace belay::runtime
