// SPDX-License-Identifier: Apache-2.0
// The file `state` of a checkpoint: the RunState as JSON. Its length and checksum are in the index. [any thread]
//
//   {
//    "format": 3,
//    "global_step": 2000,
//    "input_positions": {"train": {"epoch": 3, "index": 512}},
//    "hook_states": {"stop_at_step": {"last_step": ["int", 2000]}},
//    "written_by": {"stop_at_step": "1.0.0"},
//    "fingerprint": {"threads": 2, "isa": "avx2", "binary": "1f0a...", "seed": 42},
//    "digest": "9f1c..."
//   }
//
// The fingerprint has "precision" too if that is not "float32", "onednn", "floating_point" and "c_library" as strings,
// and "plugins": the build id of each library that was loaded, by the plugin's kind and name. Older ones lack these.
//
// "digest" is that of all variables (belay/state_digest.h), 32 digits. Format 2 has none; a state without one is
// written so. Format 1 has neither "format" nor "written_by", the versions of the hooks' libraries, and no tensors.
// Later formats keep "format" as it is here, so that a belay which does not read one says that it needs a newer belay.
//
// A run that keeps its best checkpoints has "best" too: best_checkpoints.h.
//
// A hook's value is a pair of its type (bool, int, float, text, int_list, float_list, text_list, tensor) and itself.
// Numbers that JSON has no word for are strings: "inf", "-inf", "nan:" and the sixteen digits of its bits. A string
// that is not UTF-8 is {"hex": "ff00"}. A tensor says where in `state.data` its elements lie (state_data.h):
// {"dtype": "float32", "shape": [100, 3], "offset": 64, "crc32c": "0e5d3e2a"}.
#pragma once

#include <string>
#include <string_view>

#include "runtime/checkpoint/content.h"

namespace belay::runtime {

inline constexpr std::int64_t kStateFormat = 3;
// What the values of all hooks may have together: bytes of JSON; numbers, strings and keys.
inline constexpr std::uint64_t kMaxHookStateBytes = std::uint64_t{16} << 20, kMaxHookStateValues = 350'000;
// Of the file: beyond it, it is neither read nor written. Leaves room for the rest.
inline constexpr std::uint64_t kMaxStateBytes = std::uint64_t{18} << 20;

// What an entry of a hook's state takes in the file, at most: of a tensor its description.
struct StateCost {
  std::uint64_t bytes = 0;
  std::uint64_t values = 0;
};
StateCost cost_of(std::string_view key, const StateValue& value);
// INVALID_ARGUMENT.
void check_state_key(std::string_view key);

// What cannot be written so that it reads back the same is INVALID_ARGUMENT or RESOURCE_EXHAUSTED. `digest`: of the
// variables; none: the state has none.
std::string format_run_state(const RunState& state);
std::string format_run_state(const RunState& state, const std::string& digest);
// Damage of any kind is DATA_LOSS; a later format is FAILED_PRECONDITION. Tensors are not readable yet:
// open_state_data.
RunState parse_run_state(std::string_view text);
// The digest alone, which no run goes on from: it is for comparing. Empty where the state has none. Errors as above.
std::string digest_in_run_state(std::string_view text);

}  // namespace belay::runtime
