// SPDX-License-Identifier: Apache-2.0
// The state file `checkpoint`: which checkpoint of a run directory is current, and which are kept. A text file as
// TensorFlow writes it; may be edited by hand to go back. [any thread]
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/platform/file_system.h"

namespace belay::runtime {

struct CheckpointState {
  struct Kept {
    std::string path;
    double saved_at = 0;  // seconds since 1970; 0: unknown
    bool operator==(const Kept&) const = default;
  };
  std::string current;     // as written: relative to the directory, or absolute
  std::vector<Kept> kept;  // oldest first
  // When the last checkpoint was saved that stays by keep_every_hours, in seconds since 1970; 0: not known.
  double last_preserved = 0;
  bool operator==(const CheckpointState&) const = default;
};

std::string format_checkpoint_state(const CheckpointState& state);

// DATA_LOSS where it is no such file, or names no current checkpoint; fields that belay does not know are skipped.
CheckpointState parse_checkpoint_state(std::string_view text);

// That of a run directory; none where it has none. What it names in the directory is the entry's name then, in whatever
// way it says so ("./model.ckpt-5", "model.ckpt-5/", an absolute path); other paths stay as they are written. Throws
// what reading and parsing throw.
std::optional<CheckpointState> read_checkpoint_state(const OpenDirectory& run);

}  // namespace belay::runtime
