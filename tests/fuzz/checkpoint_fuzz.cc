// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: the files of a checkpoint and the state file. The first byte decides which one the rest is. An
// index gets the checksum that belongs to it, so that the data after it is reached.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "belay/error.h"
#include "runtime/checkpoint/format/index.h"
#include "runtime/checkpoint/format/state_file.h"
#include "runtime/checkpoint/read/run_state.h"
#include "runtime/platform/files/crc32c.h"

namespace {

using namespace belay::runtime;

// A checkpoint that was read must be written so that it reads back the same.
void require(bool holds) {
  if (!holds) std::abort();
}

void read(int kind, std::string_view text) {
  if (kind == 0) {
    const CheckpointIndex index =
        parse_index(std::string(text) + ",\n \"crc32c\": \"" + crc_text(crc32c(text)) + "\"\n}\n");
    require(parse_index(format_index(index)) == index);
  } else if (kind == 1) {
    parse_index(text);
  } else if (kind == 2) {
    const RunState state = parse_run_state(text);
    require(format_run_state(parse_run_state(format_run_state(state))) == format_run_state(state));
  } else {
    const CheckpointState state = parse_checkpoint_state(text);
    require(parse_checkpoint_state(format_checkpoint_state(state)).current == state.current);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  try {
    read(data[0] & 3, {reinterpret_cast<const char*>(data) + 1, size - 1});
  } catch (const belay::Error&) {
    // Refused, which is right.
  }
  return 0;
}
