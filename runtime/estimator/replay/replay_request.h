// SPDX-License-Identifier: Apache-2.0
// What is asked of a replay: which steps of which run, what looks at them, and where that writes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "belay/runtime/own_hook.h"

namespace belay::runtime {

// The members are options of `belay replay`, and messages name them as it does.
struct ReplayRequest {
  std::string run;                           // the directory
  std::int64_t first = 0, last = 0;          // --step, --to
  std::vector<std::string> hooks = {};       // --hook: NAME, or NAME{key = value, ...}
  std::vector<std::string> hook_files = {};  // --hooks
  std::vector<std::string> fetches = {};     // --fetch
  bool batch = false;
  bool what_if = false;
  bool all_tensors = false;
  bool first_non_finite = false;  // of the steps behind the newest checkpoint, or behind that before `first`, if not 0
  std::string output = {};        // --out; empty: REPLAY-OF-RUN beside where the program was started
  // Of a program: its hooks, plugins by their names and objects, which are called behind these; folders with plugins,
  // behind the manifest's.
  std::vector<OwnHook> own_hooks = {};
  std::vector<std::string> plugin_path = {};
};

}  // namespace belay::runtime
