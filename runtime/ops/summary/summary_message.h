// SPDX-License-Identifier: Apache-2.0
// The common part of operations that make summaries, and those in separate files. summaries.cc registers them.
#pragma once

#include "runtime/graph/op_def.h"

namespace belay::runtime {

AttrDef tag_attr();

OpDef histogram_summary_op();  // histogram_summary.cc
OpDef image_summary_op();      // image_summary.cc

}  // namespace belay::runtime
