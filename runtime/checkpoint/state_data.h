// SPDX-License-Identifier: Apache-2.0
// The file `state.data` of a checkpoint: the elements of the tensors in the hooks' states, one after another without
// gaps, by the hook's name and the key; row-major and little-endian. There is none where no hook keeps a tensor. The
// file `state` says where each lies and has its checksum; the index has the whole file's. No saver sees it.
//
// A save writes it in one go. A reader opens it and reads a tensor when it is asked for, into memory of its own.
#pragma once

#include "runtime/checkpoint/content.h"
#include "runtime/checkpoint/index.h"
#include "runtime/platform/file_system.h"

namespace belay::runtime {

// f(hook, key, tensor) for each tensor of a RunState, const or not, in the file's order.
template <class State, class F>
void for_each_tensor(State& state, F&& f) {
  for (auto& [hook, hook_state] : state.hook_states)
    for (auto& [key, value] : hook_state.entries)
      if (auto* tensor = std::get_if<StateTensor>(&value)) f(hook, key, *tensor);
}

std::uint64_t byte_size(const StateTensor& tensor) noexcept;
// Of the elements: computed if they are in memory, else the one that the file should have.
std::uint32_t crc_of(const StateTensor& tensor) noexcept;
// With memory whose bytes are not set. RESOURCE_EXHAUSTED where there is none. The form has a size.
StateTensor allocated(DType dtype, Dims dims);

bool has_tensors(const RunState& state);
// Bytes of the file.
std::uint64_t tensor_bytes(const RunState& state);

// Writes and syncs the file. The tensors are in memory.
FileEntry write_state_data(OpenDirectory& directory, const RunState& state);

// Makes the tensors of a state that was parsed readable. The file was checked against the index; DATA_LOSS where the
// state's tensors do not make it up.
void open_state_data(RunState& state, const OpenDirectory& directory, const CheckpointIndex& index);
// The elements in memory: those of a saving run as they are, those of a checkpoint read from the file and checked. Null
// where there are none. DATA_LOSS names file and place.
std::shared_ptr<const void> elements_of(const StateTensor& tensor);

}  // namespace belay::runtime
