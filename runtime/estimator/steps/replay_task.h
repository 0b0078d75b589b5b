// SPDX-License-Identifier: Apache-2.0
// The task that makes a PreparedRun a replay. It trains some steps of another run again, from one of that run's
// checkpoints, with new hooks. Its manifest is that of the attempt that made them, except for two keys. run.dir is a
// separate directory. [[hooks]] has the hooks of the other run that can change a number, then the new ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "belay/runtime/own_hook.h"
#include "runtime/estimator/steps/replay_capture.h"
#include "runtime/estimator/steps/step_watch.h"
#include "runtime/session/direct_session.h"

namespace belay::runtime {

// Steps of another run that are made again, from one of its checkpoints.
struct ReplayedSteps {
  std::string checkpoint;                    // its path; every session starts from it, also after a recovery
  std::set<std::string> left_out = {};       // hooks of that run that this one does not have: their states are not used
  std::int64_t first = 0, last = INT64_MAX;  // the global steps that call all hooks
  std::int64_t until = INT64_MAX;            // the run ends after this global step
  // Called at the boundary after `until`, before any hook's end.
  std::function<void(DirectSession&)> at_last = [](DirectSession&) {};
};

struct ReplayTask {
  ReplayedSteps steps;
  // Checks the plugins' notes, before any code of a plugin runs. It finds hooks that may change a number, and other
  // data.
  std::function<void(const Manifest&, const ResolvedPlugins&, Diagnostics& problems)> check =
      [](const Manifest&, const ResolvedPlugins&, Diagnostics&) {};
  // The number of the manifest's hooks that are those of the other run, called in each step as there. The others are
  // called in the steps first to last, and may only watch. One that feeds or assigns ends the replay.
  std::size_t kept_hooks = 0;
  // A program's hooks, called after the manifest's. They are objects of the program, not plugins by name.
  std::vector<OwnHook> own_hooks = {};
  // The new hooks may feed, assign and belong to other plugins than the run had. Then it becomes another run.
  bool what_if = false;
  // Each of the steps first to last writes these tensors to run.dir, as step-N.npz. They are roles or nodes by their
  // names, each under the name in this list. The input's features and labels are there as batch/NAME.
  std::vector<std::string> fetches = {};
  bool batch = false;
  // Called with all tensors of each of the steps first to last; `place` is run.dir. Returns why the replay ends there;
  // empty: it continues. None: they are not needed.
  std::function<std::string(const WatchedStep& step, const ArrayPlace& place)> watch = {};
  // The build ids of the plugins that wrote the checkpoint, by kind and name. A different one now is a problem, or with
  // what_if a warning.
  std::map<std::string, std::string> plugins = {};
};

}  // namespace belay::runtime
