// SPDX-License-Identifier: Apache-2.0
// Writes stored tensors once more, by another saver.
//
//   const StoredCopy copy = read_copy(*stored, reader, state, wanted);
//   write_copy(files, copy, "runs/mnist-tf", writer, clock, log);
//
// The target appears whole or not at all: it is made in a hidden directory beside, every file synced, and renamed. The
// tensors are in memory once.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "belay/runtime/checkpoint_settings.h"
#include "runtime/checkpoint/checkpoint_reader.h"
#include "runtime/checkpoint/read_tensors.h"
#include "runtime/checkpoint/saver_tensors.h"
#include "runtime/platform/clock.h"
#include "runtime/platform/file_system.h"
#include "runtime/platform/logger.h"

namespace belay::runtime {

struct StoredCopy {
  std::unique_ptr<TensorMemory> tensors;
  RunState state = {};  // of a file of others: its step alone
  std::string graph_hash = {};
  std::string schema = {};                // of a checkpoint that has one
  std::vector<TensorInfo> left_out = {};  // of types that belay does not read
};

// The tensors that are wanted. `checkpoint`: of belay's own, whose state is copied too; null: a file by others, whose
// step is that of its tensor global_step, else that of its name, else 0. INVALID_ARGUMENT where none is wanted.
StoredCopy read_copy(const StoredTensors& stored, const SaverUse& saver, const CheckpointReader* checkpoint,
                     const std::function<bool(const std::string&)>& wanted);

// Whether a single file of that name is replaced, as its rename does it, or refused as all else is that is there.
enum class IfThere { kRefuse, kReplaceFile };

// A checkpoint of belay's own, with index and state; or where the target's name has the ending of a saver's file
// (.safetensors, .npz, .index), only the saver's files under that name, for other programs. ALREADY_EXISTS where the
// target is there; RunInUse where it is a checkpoint's name in the directory of a run that goes on; INVALID_ARGUMENT
// where the saver's files cannot have other names. Of the settings refuse_non_finite holds.
void write_stored(FileSystem& files, const CheckpointContent& content, const std::string& target, const SaverUse& saver,
                  const Clock& clock, Logger& log, const CheckpointSettings& settings,
                  IfThere if_there = IfThere::kRefuse);
// The same of a copy, whatever its values are.
void write_copy(FileSystem& files, const StoredCopy& copy, const std::string& target, const SaverUse& saver,
                const Clock& clock, Logger& log);

}  // namespace belay::runtime
