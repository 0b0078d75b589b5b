// SPDX-License-Identifier: Apache-2.0
// StepOfRanks is the step that the ranks of a run make together, as operations see it. It has the sums of the step.
//
//   StepOfRanks step(meeting, wire, control);
//   step.make(session);                  // its buckets; all ranks make the same
//   step.take(share);                    // the ranks have agreed on a step
//   step.also_took(name, position);      // another rank, in it
//   ... begin() and wait() of the session ...
//   step.end();                          // before the group ends
//
// [session thread]
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "runtime/cluster/gradient_buckets.h"
#include "runtime/cluster/rank_control.h"
#include "runtime/cluster/rank_meeting.h"
#include "runtime/graph/step_ranks.h"
#include "runtime/monitored/layers/run_trace.h"
#include "runtime/session/direct_session.h"

namespace belay::runtime {

class StepOfRanks final : public StepRanks {
 public:
  // `wire`: kBFloat16 if gradients are rounded to it on the way. The others are borrowed.
  StepOfRanks(const RankMeeting& meeting, DType wire, const RankControl& control)
      : meeting_(meeting), wire_(wire), control_(control) {}
  ~StepOfRanks() override { end(); }
  StepOfRanks(const StepOfRanks&) = delete;
  StepOfRanks& operator=(const StepOfRanks&) = delete;

  // The trace shows when each bucket was sent. Borrowed; null: nothing is traced.
  void trace_into(RunTrace* trace) noexcept { trace_ = trace; }
  // FAILED_PRECONDITION if the models of the ranks differ.
  void make(DirectSession& session);
  // Interrupts a bucket of a step that has failed in the middle.
  void end() noexcept;

  void take(double share);
  void also_took(const std::string& name, const Position& after) { others_took_.emplace_back(&name, after); }
  // The ranks have agreed on a step, and its sums have not come yet.
  bool under_way() const noexcept { return under_way_; }
  void drop() noexcept { under_way_ = false; }

  double share() const override { return share_; }
  float* bucket(std::size_t number) override { return buckets_->memory(number); }
  void begin(std::size_t number) override;
  void wait() override;
  float* records(std::size_t number, std::int64_t count, std::int64_t room) override {
    return buckets_->records(number, count, room);
  }
  RowsOfRanks rows(std::size_t number) override { return buckets_->rows(number); }
  const std::vector<std::pair<const std::string*, Position>>& others_took() const override { return others_took_; }

 private:
  void mark_own_loss() noexcept;
  void look_at_losses();
  void trace_buckets() noexcept;

  const RankMeeting& meeting_;
  const DType wire_;
  const RankControl& control_;
  RunTrace* trace_ = nullptr;
  const Clock* clock_ = nullptr;              // of the session
  bool traced_ = false;                       // the times of the step under way are taken
  std::unique_ptr<GradientBuckets> buckets_;  // of the session; its thread ends before the group
  std::optional<LossMarks> loss_;             // none: the loss is in none of these buckets
  bool warned_of_loss_ = false;               // in this session
  bool under_way_ = false;
  double share_ = 0;
  std::vector<std::pair<const std::string*, Position>> others_took_;
};

}  // namespace belay::runtime
