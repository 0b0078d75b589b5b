// SPDX-License-Identifier: Apache-2.0
// Service "checkpoint" saves for a hook, and reads any checkpoint. Its contexts are the RunEnvironment and, to read, a
// SaverUse. OtherSavers is needed if other runs may have another saver; to save, it needs the RunSaver.
#pragma once

#include <memory>
#include <vector>

#include "belay/abi.h"
#include "runtime/checkpoint/read/checkpoint_reader.h"
#include "runtime/checkpoint/read/read_tensors.h"

namespace belay::runtime {

// The object that belay_checkpoint points to, from open to close.
struct OpenCheckpoint {
  std::unique_ptr<StoredTensors> stored;
  std::vector<TensorInfo> tensors;
  SaverUse saver;
  // Small tensors that were read together with one before them, since a saver reads its header again at each call.
  std::unique_ptr<TensorMemory> ahead = {};
  std::size_t ahead_begins = 0;  // the place in `tensors` of its first one
};

const belay_checkpoint_api* checkpoint_service() noexcept;

inline belay_checkpoint* to_handle(OpenCheckpoint* c) noexcept { return reinterpret_cast<belay_checkpoint*>(c); }
inline OpenCheckpoint& from_handle(belay_checkpoint* c) noexcept { return *reinterpret_cast<OpenCheckpoint*>(c); }

}  // namespace belay::runtime
