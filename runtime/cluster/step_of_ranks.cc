// SPDX-License-Identifier: Apache-2.0
#include "runtime/cluster/step_of_ranks.h"

#include <fmt/core.h>

#include <cmath>
#include <utility>

#include "runtime/cluster/rank_wait.h"
#include "runtime/platform/files/crc32c.h"
#include "runtime/platform/threads/activity.h"

namespace belay::runtime {
namespace {

constexpr std::uint32_t kBucketTag = 1;  // the calls of the buckets' thread have it

// Without this check the sums of different buckets would match and be nonsense.
void compare_buckets(RankGroup& group, const std::vector<GradientBuckets::Size>& sizes) {
  std::uint32_t sum = 0;
  for (const GradientBuckets::Size& size : sizes) {
    const std::int64_t numbers[] = {size.elements, (size.gradients ? 1 : 0) + (size.rows ? 2 : 0)};
    sum = crc32c(numbers, sizeof(numbers), sum);
  }
  const auto count = static_cast<std::int64_t>(sizes.size());
  const std::vector<std::int64_t> all = group.all_gather({count, static_cast<std::int64_t>(sum)});
  for (std::size_t r = 1; 2 * r < all.size(); ++r)
    if (all[2 * r] != all[0] || all[2 * r + 1] != all[1])
      fail(Code::kFailedPrecondition,
           fmt::format(
               "[B5104] rank {} has {} buckets of gradients, and rank 0 has {}{}: the models of the ranks differ", r,
               all[2 * r], all[0], all[2 * r] != all[0] ? "" : " of other sizes"));
}

}  // namespace

void StepOfRanks::make(DirectSession& session) {
  end();
  clock_ = &session.clock();
  loss_.reset();
  std::vector<GradientBuckets::Size> sizes = buckets_of(session.graph());
  if (sizes.empty()) return;
  loss_ = add_loss_marks(session.graph(), meeting_.size(), sizes);
  warned_of_loss_ = false;
  RankGroup& group = meeting_.group();
  compare_buckets(group, sizes);
  const auto sum = [this, &group](const TensorView& values, bool gradients) {
    group.all_reduce(values, gradients ? wire_ : DType::kInvalid, kBucketTag);
  };
  const auto gather = [&group](const TensorView& mine, const TensorView& all) {
    group.all_gather(mine, all, kBucketTag);
  };
  buckets_ = std::make_unique<GradientBuckets>(
      std::move(sizes), sum, [this] { meeting_.cluster().interrupt(); },
      GradientBuckets::Gather{meeting_.size(), gather});
}

void StepOfRanks::end() noexcept {
  if (buckets_ == nullptr) return;
  buckets_.reset();
  traced_ = false;
  meeting_.cluster().uninterrupted();
}

void StepOfRanks::take(double share) {
  share_ = share;
  under_way_ = true;
  others_took_.clear();
}

void StepOfRanks::begin(std::size_t number) {
  if (loss_ && loss_->bucket == number) mark_own_loss();
  buckets_->begin(number);
}

void StepOfRanks::mark_own_loss() noexcept {
  float* const memory = buckets_->memory(loss_->bucket);
  for (int r = 0; r < meeting_.size(); ++r) memory[loss_->first + r] = 0;
  memory[loss_->first + meeting_.rank()] = std::isfinite(memory[loss_->loss]) ? 0.0F : 1.0F;
}

// If the loss is finite on no rank, the variables are to blame and not a rank.
void StepOfRanks::look_at_losses() {
  if (!loss_ || warned_of_loss_) return;
  const float* const marks = buckets_->memory(loss_->bucket) + loss_->first;
  int bad = 0;
  for (int r = 0; r < meeting_.size(); ++r) bad += marks[r] == 0 ? 0 : 1;
  if (bad == 0 || bad == meeting_.size()) return;
  warned_of_loss_ = true;
  std::string names;
  for (int r = 0; r < meeting_.size(); ++r)
    if (marks[r] != 0) names += (names.empty() ? "" : ", ") + meeting_.name_of(r);
  control_.warn(
      fmt::format("the loss of {} is not finite at step {}, and that of the other ranks is: look at the rows of {}",
                  names, control_.monitor.step.load(std::memory_order_relaxed) + 1, names));
}

void StepOfRanks::wait() {
  const RankWait waiting(control_.waits);
  const Doing doing(Activity::kOtherRanks);
  buckets_->wait();
  if (!std::exchange(under_way_, false)) return;  // another node of the step has waited
  look_at_losses();
  trace_buckets();
}

void StepOfRanks::trace_buckets() noexcept {
  const bool on = trace_ != nullptr && trace_->on();
  if (on && traced_)
    for (std::size_t b = 0; b < buckets_->sizes().size(); ++b) {
      const auto [start_ns, end_ns] = buckets_->times(b);
      trace_->add_exchange(fmt::format("bucket {}", b), start_ns, end_ns);
    }
  traced_ = on;
  buckets_->time_by(on ? clock_ : nullptr);
}

}  // namespace belay::runtime
