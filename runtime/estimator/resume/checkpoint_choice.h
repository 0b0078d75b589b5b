// SPDX-License-Identifier: Apache-2.0
// The checkpoint to evaluate or predict with, as a user names it (`latest`, `best`, a step, or a path) or an Estimator.
//
//   const CheckpointChoice choice = parse_checkpoint_choice("latest");
//   load_checkpoint({files, log, "/runs/mnist"}, choice, saver, session);
//
// It only reads: it takes no lock and works beside the run that trains, and on a directory that it may not write. Every
// length and checksum is looked at, as in a restore. The run may delete a checkpoint while it is read, or write a newer
// one: then the directory is looked at again, kChoiceAttempts times at most; what was read of the first one does not
// stay. [session]
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/checkpoint/read/checkpoint_reader.h"
#include "runtime/checkpoint/read/restore_error.h"
#include "runtime/platform/files/file_system.h"
#include "runtime/platform/log/logger.h"
#include "runtime/session/direct_session.h"
#include "runtime/session/variable_store.h"

namespace belay::runtime {

inline constexpr int kChoiceAttempts = 10;

struct CheckpointChoice {
  enum class Kind {
    kLatest,  // the one from which a training would continue (find_restorable.h)
    kBest,    // by [checkpoint] best_metric
    kStep,
    kPath,  // a checkpoint's directory, a run directory, of which it is the latest, or that one's file `best`
  };
  Kind kind = Kind::kLatest;
  std::int64_t step = -1;
  std::string path = {};
  const char* hint = "";  // what else may be given, for the error of a path that is not there
};
// "latest", "best", a number; anything else is a path (of a directory named 100: "./100"). INVALID_ARGUMENT for nothing
// and for a number that is no step.
CheckpointChoice parse_checkpoint_choice(std::string_view text);

// The best checkpoints of a run directory by their names in it, the best one first, as its state says at this moment.
using BestCheckpoints = std::function<std::vector<std::string>(const OpenDirectory& run)>;

struct CheckpointPlace {
  FileSystem& files;
  Logger& log;
  std::string run_directory;
  BestCheckpoints best = {};  // empty: as its file `best` says
};

struct UsedCheckpoint {
  std::string path;
  std::int64_t global_step = 0;
};

// Looks before anything is read: false for `latest` if there is no run directory, or no checkpoint in it. A path
// that is not there, or is none, is thrown as below; a step and `best` are looked for only there.
bool has_checkpoint(const CheckpointPlace& place, const CheckpointChoice& choice);

// Opens it and calls `use`, which may be called again with another one if that was deleted meanwhile.
//
//   NOT_FOUND            no run directory; no checkpoint in it, with what is there; not that step, with those that are
//                        there; no such path; `best` of a run that keeps none
//   FAILED_PRECONDITION  a path that is no checkpoint
//   RestoreError         checkpoints are there, and the one that was named, or for `latest` and `best` each, is damaged
UsedCheckpoint with_checkpoint(const CheckpointPlace& place, const CheckpointChoice& choice,
                               const std::function<void(const CheckpointReader&)>& use);

// The session's variables by their names. A path may also be one file whose name says that the saver
// reads it, such as the model.safetensors of an export; one that has no global step is of step 0. RestoreError with all
// that are missing or have another shape or type.
UsedCheckpoint load_checkpoint(const CheckpointPlace& place, const CheckpointChoice& choice, const SaverUse& saver,
                               DirectSession& session);
// All variables of the checkpoint, made in the store if they are new: for sessions that take theirs from it.
UsedCheckpoint load_checkpoint(const CheckpointPlace& place, const CheckpointChoice& choice, const SaverUse& saver,
                               VariableStore& store);

// What the training of the chosen checkpoint learned of its data, as JSON (data/schema.h). Only the place is looked up
// and that one file read and compared with the index; if it is missing or damaged, that of the run directory. Of one
// file of tensors, and of a run directory without a checkpoint, the schema.json beside it.
struct StoredSchema {
  std::string path;  // of the checkpoint or the folder; empty: there is none
  std::string text;  // empty: none is kept there
};
// Other errors are left to whoever uses the checkpoint: then the result is empty.
//
//   DATA_LOSS  the index, or the record of an export, lists another schema.json, and the run directory has none
StoredSchema read_schema(const CheckpointPlace& place, const CheckpointChoice& choice);

}  // namespace belay::runtime
