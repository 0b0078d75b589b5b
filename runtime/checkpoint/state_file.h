// The state file `checkpoint`: which checkpoint of a run directory is current, and which are kept. Text, as TensorFlow
// writes it; may be edited by hand to go back. [any thread]
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace belay::runtime {

struct CheckpointState {
  struct Kept {
    std::string path;
    double saved_at = 0;  // seconds since 1970; 0: unknown
    bool operator==(const Kept&) const = default;
  };
  std::string current;     // as written: relative to the directory, or absolute
  std::vector<Kept> kept;  // oldest first
  bool operator==(const CheckpointState&) const = default;
};

std::string format_checkpoint_state(const CheckpointState& state);

// DATA_LOSS where it is no such text, or names no current checkpoint; fields that belay does not know are skipped.
CheckpointState parse_checkpoint_state(std::string_view text);

}  // namespace belay::runtime
