// SPDX-License-Identifier: Apache-2.0
// Operations of several processes that train together.
#pragma once

#include "runtime/graph/op_def.h"

namespace belay::runtime {

void add_rank_ops(OpRegistry& registry);  // mean_over_ranks.cc

}  // namespace belay::runtime
