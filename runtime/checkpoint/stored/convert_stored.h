// SPDX-License-Identifier: Apache-2.0
// Writes stored tensors again, by another saver.
//
//   const StoredCopy copy = read_copy(*stored, reader, state, wanted);
//   write_copy(files, copy, "runs/mnist-tf", writer, clock, log);
//
// The target appears whole or not at all. It is made in a hidden directory beside it, every file is synced, and it is
// renamed. Memory holds the tensors once.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "belay/runtime/checkpoint_settings.h"
#include "runtime/checkpoint/format/saver_tensors.h"
#include "runtime/checkpoint/read/checkpoint_reader.h"
#include "runtime/checkpoint/read/read_tensors.h"
#include "runtime/platform/files/file_system.h"
#include "runtime/platform/log/logger.h"
#include "runtime/platform/threads/clock.h"

namespace belay::runtime {

struct StoredCopy {
  std::unique_ptr<TensorMemory> tensors;
  RunState state = {};  // a foreign file has only its step
  std::string graph_hash = {};
  std::string schema = {};                // if the checkpoint has one
  std::vector<TensorInfo> left_out = {};  // types that belay does not read
};

// Reads the wanted tensors. `checkpoint` is belay's, and its state is copied, too. Null: a foreign file. Its step is
// that of its tensor global_step, else that of its name, else 0. INVALID_ARGUMENT: none is wanted.
StoredCopy read_copy(const StoredTensors& stored, const SaverUse& saver, const CheckpointReader* checkpoint,
                     const std::function<bool(const std::string&)>& wanted);

// Whether a single file of that name is replaced by the rename, or refused like any other existing entry.
enum class IfThere { kRefuse, kReplaceFile };

// Writes one of belay's checkpoints, with index and state. The target's name may have the ending of a saver's file
// (.safetensors, .npz, .index). Then it writes only the saver's files under that name, for other programs.
// ALREADY_EXISTS: the target exists. RunInUse: it is a checkpoint's name in the directory of a run that still runs.
// INVALID_ARGUMENT: the saver's files cannot have other names. It uses only refuse_non_finite of the settings.
void write_stored(FileSystem& files, const CheckpointContent& content, const std::string& target, const SaverUse& saver,
                  const Clock& clock, Logger& log, const CheckpointSettings& settings,
                  IfThere if_there = IfThere::kRefuse);
// Does the same for a copy with any values.
void write_copy(FileSystem& files, const StoredCopy& copy, const std::string& target, const SaverUse& saver,
                const Clock& clock, Logger& log);

}  // namespace belay::runtime
