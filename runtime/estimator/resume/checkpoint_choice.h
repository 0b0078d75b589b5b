// SPDX-License-Identifier: Apache-2.0
// The checkpoint to evaluate or predict with, as a user names it (`latest`, `best`, a step, or a path) or an Estimator.
//
//   const CheckpointChoice choice = parse_checkpoint_choice("latest");
//   load_checkpoint({files, log, "/runs/mnist"}, choice, saver, session);
//
// It only reads and takes no lock. So it works beside the run that trains, and on a directory that is read-only. Every
// length and checksum is checked, as in a restore. The run may delete a checkpoint while it is read, or write a newer
// one. Then the directory is read again, at most kChoiceAttempts times, and nothing of the first one stays. [session]
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
    kPath,  // a checkpoint's directory, or a run directory (its latest checkpoint), or the file `best` in it
  };
  Kind kind = Kind::kLatest;
  std::int64_t step = -1;
  std::string path = {};
  const char* hint = "";  // the other choices, for the error of a path that does not exist
};
// "latest", "best", a number; anything else is a path (of a directory named 100: "./100"). INVALID_ARGUMENT for nothing
// and for a number that is no step.
CheckpointChoice parse_checkpoint_choice(std::string_view text);

// The best checkpoints of a run directory by their names in it, the best one first, by its state at this moment.
using BestCheckpoints = std::function<std::vector<std::string>(const OpenDirectory& run)>;

struct CheckpointPlace {
  FileSystem& files;
  Logger& log;
  std::string run_directory;
  BestCheckpoints best = {};  // empty: those of its file `best`
};

struct UsedCheckpoint {
  std::string path;
  std::int64_t global_step = 0;
};

// Looks before anything is read. Returns false for `latest` if there is no run directory, or no checkpoint in it. A
// path that does not exist, or is no checkpoint, is thrown as below. A step and `best` are looked for only later.
bool has_checkpoint(const CheckpointPlace& place, const CheckpointChoice& choice);

// Opens it and calls `use`. If the checkpoint was deleted meanwhile, `use` is called again with another one.
//
//   NOT_FOUND            there is no run directory, or no checkpoint in it, or not that step, or no such path; or
//                        `best` of a run that keeps none. The error lists the steps or names that exist
//   FAILED_PRECONDITION  a path that is no checkpoint
//   RestoreError         the named checkpoint is damaged; for `latest` and `best`: every one is damaged
UsedCheckpoint with_checkpoint(const CheckpointPlace& place, const CheckpointChoice& choice,
                               const std::function<void(const CheckpointReader&)>& use);

// Fails as with_checkpoint does if the choice cannot be opened. One file that load_checkpoint accepts is only looked
// for.
void check_checkpoint(const CheckpointPlace& place, const CheckpointChoice& choice);

// Loads the session's variables by their names. A path may also be one file that the saver accepts by its name, such as
// the model.safetensors of an export. A file without a global step is of step 0. RestoreError lists all variables that
// are missing or have another shape or type.
UsedCheckpoint load_checkpoint(const CheckpointPlace& place, const CheckpointChoice& choice, const SaverUse& saver,
                               DirectSession& session);
// Loads all variables of the checkpoint and makes new ones in the store. It is for sessions that take theirs from it.
UsedCheckpoint load_checkpoint(const CheckpointPlace& place, const CheckpointChoice& choice, const SaverUse& saver,
                               VariableStore& store);

// The schema that the chosen checkpoint's training learned of its data, as JSON (data/schema.h). Only the place is
// looked up, and that one file is read and compared with the index. If the file is missing or damaged, it is that of
// the run directory. For one file of tensors, or a run directory without a checkpoint, it is the schema.json beside it.
struct StoredSchema {
  std::string path;  // of the checkpoint or the folder; empty: there is none
  std::string text;  // empty: none is kept there
};
// The user of the checkpoint reports other errors; here the result is empty.
//
//   DATA_LOSS  the index, or the record of an export, lists another schema.json, and the run directory has none
StoredSchema read_schema(const CheckpointPlace& place, const CheckpointChoice& choice);

}  // namespace belay::runtime
