// SPDX-License-Identifier: Apache-2.0
// The file `state` of a checkpoint: the RunState as JSON. Its length and checksum stand in the index. [any thread]
//
//   {
//    "global_step": 2000,
//    "input_positions": {"train": {"epoch": 3, "index": 512}},
//    "hook_states": {"stop_at_step": {"last_step": ["int", 2000]}},
//    "fingerprint": {"threads": 2, "isa": "avx2", "binary": "1f0a...", "seed": 42}
//   }
//
// The fingerprint has "precision" too where that is not "float32", "onednn" and "floating_point" as texts, and
// "plugins": the build id of each library that was loaded, by the plugin's kind and name. Older ones lack these.
//
// A run that keeps its best checkpoints has "best" too: best_checkpoints.h.
//
// A hook's value is a pair of its type (bool, int, float, text, int_list, float_list, text_list) and itself. Numbers
// that JSON has no word for are texts: "inf", "-inf", "nan:" and the sixteen digits of its bits. A text that is no
// UTF-8 is
// {"hex": "ff00"}.
#pragma once

#include <string>
#include <string_view>

#include "runtime/checkpoint/content.h"

namespace belay::runtime {

// What cannot be written so that it reads back the same is INVALID_ARGUMENT or RESOURCE_EXHAUSTED.
std::string format_run_state(const RunState& state);
// Damage of any kind is DATA_LOSS.
RunState parse_run_state(std::string_view text);

}  // namespace belay::runtime
