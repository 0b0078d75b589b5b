// SPDX-License-Identifier: Apache-2.0
// The nodes that a plan needs, and the place of each. Vectors are by node id.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/session/closure.h"
#include "runtime/session/plan.h"
#include "runtime/session/simplify.h"

namespace belay::runtime {

struct NodeSchedule {
  std::vector<bool> in_base;         // its effects need it (the whole request if nothing is written)
  std::vector<bool> planned;         // in the base, or needed by a hook's fetch
  std::vector<bool> shape_only;      // its dims matter, but its value is not read
  std::vector<Condition> condition;  // when a planned node runs
  std::vector<bool> pinned;          // a feed, or the caller if nothing is written, keeps its output
  Simplified simplified;

  // These are for planned nodes that compute: neither folded nor merged into a twin.
  std::vector<std::uint32_t> base;                    // the nodes of the base, ascending
  std::vector<std::vector<std::uint32_t>> users;      // nodes that read its value (or a twin's), ascending
  std::vector<std::vector<std::uint32_t>> followers;  // nodes that run after it by control edges, ascending

  std::vector<PlanStage> stages;  // empty, but for `commit`
  std::vector<std::uint32_t> stage;
  std::vector<bool> commit;       // runs in a commit stage
  std::vector<bool> after_write;  // depends on a write of its phase
  std::uint32_t last_main = 0;    // the last stage before the first commit
  PlanPasses passes;
  bool atomic = true;
  bool has_effects = false;
};

// `plan` has its key and slots. It is an error if a node needs a shape that only running shows.
NodeSchedule make_schedule(const NodeGraph& graph, const Plan& plan, const Closure& feeds);

}  // namespace belay::runtime
