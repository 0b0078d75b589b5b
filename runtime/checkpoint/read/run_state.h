// SPDX-License-Identifier: Apache-2.0
// The file `state` of a checkpoint: the RunState as JSON. The index has its length and checksum. [any thread]
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
// The fingerprint also has "precision" if that is not "float32". It has "onednn", "floating_point" and "c_library" as
// strings. "plugins" has the build id of each loaded library, by the plugin's kind and name. Older ones lack these.
//
// "digest" is that of all variables (belay/state_digest.h), 32 digits. Format 2 has none; a state without one is
// written so. Format 1 has no "format", no tensors and no "written_by", the versions of the hooks' libraries. Later
// formats keep "format". So a belay that cannot read one asks for a newer belay.
//
// A run that keeps its best checkpoints also has "best": best_checkpoints.h.
//
// A hook's value is a pair of its type (bool, int, float, text, int_list, float_list, text_list, tensor) and itself.
// Numbers that JSON cannot express are strings: "inf", "-inf", "nan:" and the sixteen digits of its bits. A string that
// is not UTF-8 is {"hex": "ff00"}. A tensor has the place of its elements in `state.data` (state_data.h): {"dtype":
// "float32", "shape": [100, 3], "offset": 64, "crc32c": "0e5d3e2a"}.
#pragma once

#include <string>
#include <string_view>

#include "runtime/checkpoint/format/content.h"

namespace belay::runtime {

inline constexpr std::int64_t kStateFormat = 3;
// The limits for the values of all hooks together: bytes of JSON; numbers, strings and keys.
inline constexpr std::uint64_t kMaxHookStateBytes = std::uint64_t{16} << 20, kMaxHookStateValues = 350'000;
// The limit of the file: a larger one is neither read nor written. It leaves room for the rest.
inline constexpr std::uint64_t kMaxStateBytes = std::uint64_t{18} << 20;

// The most that an entry of a hook's state takes in the file; for a tensor, its description.
struct StateCost {
  std::uint64_t bytes = 0;
  std::uint64_t values = 0;
};
StateCost cost_of(std::string_view key, const StateValue& value);
// INVALID_ARGUMENT: it is no valid key.
void check_state_key(std::string_view key);

// INVALID_ARGUMENT or RESOURCE_EXHAUSTED: a value would not be read back the same. `digest` is that of the variables;
// none: the state has none.
std::string format_run_state(const RunState& state);
std::string format_run_state(const RunState& state, const std::string& digest);
// DATA_LOSS: it is damaged in any way. FAILED_PRECONDITION: it has a later format. Tensors are not readable yet:
// open_state_data.
RunState parse_run_state(std::string_view text);
// Returns only the digest, which serves for comparing, not for continuing. Empty: the state has none. Errors are those
// above.
std::string digest_in_run_state(std::string_view text);

}  // namespace belay::runtime
