// SPDX-License-Identifier: Apache-2.0
// The common part of adam and adamw.
#pragma once

#include <belay/ops/math.h>
#include <belay/ops/training.h>
#include <belay/plugin.h>

#include <vector>

// The moments of each variable, and the powers of the betas that correct them in all updates.
class AdamRule {
 public:
  explicit AdamRule(const belay::ops::AdamConstants& constants) : constants_(constants) {}

  void create_slots(const belay::OptimizerContext& o) {
    m_ = o.slots("Adam");
    v_ = o.slots("Adam_1");
    power1_ = o.slot_for_all("beta1_power", constants_.beta1);
    power2_ = o.slot_for_all("beta2_power", constants_.beta2);
  }
  belay::Output apply(const belay::OptimizerContext& o, const belay::Update& u) const {
    return belay::ops::apply_adam(u.variable, m_[u.index], v_[u.index], power1_, power2_, o.learning_rate(), u.gradient,
                                  constants_, u.name);
  }
  // Lazy Adam: the moments of rows without a gradient do not decay.
  belay::Output apply_sparse(const belay::OptimizerContext& o, const belay::SparseUpdate& u) const {
    return belay::ops::sparse_apply_adam(u.variable, m_[u.index], v_[u.index], power1_, power2_, o.learning_rate(),
                                         u.gradient, constants_, u.name);
  }
  // Sets the powers for the next step after all updates have used those of this step.
  std::vector<belay::Output> finish(const belay::OptimizerContext& o, const std::vector<belay::Output>& updates) const {
    const belay::Output next1 = power1_ * constants_.beta1, next2 = power2_ * constants_.beta2;
    const auto after = o.graph().after(updates);
    const belay::Output first = belay::ops::assign(power1_, next1, "update_beta1_power");
    return {first, belay::ops::assign(power2_, next2, "update_beta2_power")};
  }

 private:
  const belay::ops::AdamConstants constants_;
  std::vector<belay::Output> m_, v_;
  belay::Output power1_, power2_;
};
