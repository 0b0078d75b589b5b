// SPDX-License-Identifier: Apache-2.0
// The file `state.data` of a checkpoint: the elements of the tensors in the hooks' states. They are without gaps,
// ordered by the hook's name and the key, row-major and little-endian. If no hook keeps a tensor, there is no file. The
// file `state` has the place and the checksum of each. The index has the whole file's. No saver sees it.
//
// A save writes it at once. A reader opens it and reads a tensor on demand, into separate memory.
#pragma once

#include "runtime/checkpoint/format/content.h"
#include "runtime/checkpoint/format/index.h"
#include "runtime/platform/files/file_system.h"

namespace belay::runtime {

// Calls f(hook, key, tensor) for each tensor of a RunState, const or not, in the file's order.
template <class State, class F>
void for_each_tensor(State& state, F&& f) {
  for (auto& [hook, hook_state] : state.hook_states)
    for (auto& [key, value] : hook_state.entries)
      if (auto* tensor = std::get_if<StateTensor>(&value)) f(hook, key, *tensor);
}

std::uint64_t byte_size(const StateTensor& tensor) noexcept;
// Returns the elements' checksum: computed if they are in memory, else the one that the file should have.
std::uint32_t crc_of(const StateTensor& tensor) noexcept;
// Allocates memory that is not set. RESOURCE_EXHAUSTED: there is none. The form has a size.
StateTensor allocated(DType dtype, Dims dims);

bool has_tensors(const RunState& state);
// Returns the bytes of the file.
std::uint64_t tensor_bytes(const RunState& state);

// Writes and syncs the file. The tensors are in memory.
FileEntry write_state_data(OpenDirectory& directory, const RunState& state);

// Makes the tensors of a parsed state readable. The file was checked against the index. DATA_LOSS: the state's tensors
// do not cover it exactly.
void open_state_data(RunState& state, const OpenDirectory& directory, const CheckpointIndex& index);
// Returns the elements in memory: a saving run's unchanged, a checkpoint's read from the file and checked. Null: there
// are none. DATA_LOSS names file and place.
std::shared_ptr<const void> elements_of(const StateTensor& tensor);

}  // namespace belay::runtime
