// SPDX-License-Identifier: Apache-2.0
// The state file `checkpoint`: the current checkpoint of a run directory, and those that are kept. It is a text file in
// TensorFlow's format. Users may edit it to go back. [any thread]
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/platform/files/file_system.h"

namespace belay::runtime {

struct CheckpointState {
  struct Kept {
    std::string path;
    double saved_at = 0;  // seconds since 1970; 0: unknown
    bool operator==(const Kept&) const = default;
  };
  std::string current;     // as written: relative to the directory, or absolute
  std::vector<Kept> kept;  // oldest first
  // The time of the last checkpoint that stays by keep_every_hours, in seconds since 1970; 0: unknown.
  double last_preserved = 0;
  bool operator==(const CheckpointState&) const = default;
};

std::string format_checkpoint_state(const CheckpointState& state);

// DATA_LOSS: it is no such file, or names no current checkpoint. Unknown fields are skipped.
CheckpointState parse_checkpoint_state(std::string_view text);

// Returns that of a run directory; none: it has none. Paths into the directory, in any form ("./model.ckpt-5",
// "model.ckpt-5/", an absolute path), become the entry's name. Other paths stay unchanged. Throws the errors of reading
// and parsing.
std::optional<CheckpointState> read_checkpoint_state(const OpenDirectory& run);

}  // namespace belay::runtime
