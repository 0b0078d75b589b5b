// SPDX-License-Identifier: Apache-2.0
// What a plan needs, and where each node of it runs. Vectors are by node id.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/session/closure.h"
#include "runtime/session/plan.h"
#include "runtime/session/simplify.h"

namespace belay::runtime {

struct Schedule {
  std::vector<bool> in_base;         // its effects need it (the whole request where nothing is written)
  std::vector<bool> planned;         // in the base, or needed by a hook's fetch
  std::vector<bool> shape_only;      // its dims matter, though its value is not read
  std::vector<Condition> condition;  // when a planned node runs
  std::vector<bool> pinned;          // a feed, or the caller where nothing is written, holds on to its output
  Simplified simplified;

  // Of planned nodes that compute: neither folded nor merged into a twin.
  std::vector<std::uint32_t> base;                    // those of the base, ascending
  std::vector<std::vector<std::uint32_t>> users;      // who reads a value of it (of a twin of it), ascending
  std::vector<std::vector<std::uint32_t>> followers;  // who runs after it, by control edges, ascending

  std::vector<PlanStage> stages;  // empty, but for `commit`
  std::vector<std::uint32_t> stage;
  std::vector<bool> commit;       // runs in a commit stage
  std::vector<bool> after_write;  // depends on a write of its phase
  std::uint32_t last_main = 0;    // the last stage before the first commit
  PlanPasses passes;
  bool atomic = true;
  bool has_effects = false;
};

// `plan`: its key and slots are set. Error: a shape is needed that is known only by running the node.
Schedule make_schedule(const NodeGraph& graph, const Plan& plan, const Closure& feeds);

}  // namespace belay::runtime
