// SPDX-License-Identifier: Apache-2.0
#include "runtime/ops/kernels/reduction_plan.h"

namespace belay::runtime {

ReductionPlan::ReductionPlan(const Dims& dims, const std::vector<bool>& reduced) {
  struct Merged {
    std::int64_t size;
    std::int64_t stride;
    bool reduced;
  };
  std::vector<Merged> merged;  // the innermost first
  std::int64_t stride = 1;
  for (std::size_t i = dims.size(); i-- > 0;) {
    if (dims[i] == 1) continue;
    if (!merged.empty() && merged.back().reduced == reduced[i]) {
      merged.back().size *= dims[i];
    } else {
      merged.push_back({dims[i], stride, reduced[i]});
    }
    stride *= dims[i];
  }
  if (merged.empty()) return;
  inner_ = merged[0].size;
  inner_reduced_ = merged[0].reduced;
  for (std::size_t i = 1; i < merged.size(); ++i)
    (merged[i].reduced ? reduced_ : kept_).push_back({merged[i].size, merged[i].stride});
}

}  // namespace belay::runtime
