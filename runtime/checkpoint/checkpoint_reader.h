// SPDX-License-Identifier: Apache-2.0
// Reading a checkpoint. Nothing is mapped into memory and nothing is trusted: the index is checked as a whole, every
// file against it when the checkpoint is opened, or while it is read where all of it is read anyway, and every tensor
// against it when it is read.
//
//   const auto checkpoint = CheckpointReader::open(run.open_directory("model.ckpt-2000"));
//   for (const TensorInfo& t : checkpoint->tensors()) ...
//   checkpoint->read(saver, {{"hidden/kernel", view_of_my_buffer}});
//
// Errors: DATA_LOSS for damage, with file, expected and found; FAILED_PRECONDITION where it is another format or
// another saver's. One thread at a time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/checkpoint/content.h"
#include "runtime/checkpoint/index.h"
#include "runtime/checkpoint/saver_tensors.h"
#include "runtime/platform/file_system.h"
#include "runtime/platform/logger.h"

namespace belay::runtime {

class SaverDirectory;

// Tensors that lie in files: a checkpoint of belay's own, or a file that a saver understands.
class StoredTensors {
 public:
  virtual ~StoredTensors() = default;
  virtual const std::string& path() const = 0;
  // Sorted by name.
  virtual std::vector<TensorInfo> tensors() const = 0;
  // Fills the caller's memory. Each target is a tensor of the list, with its dtype and shape: another name is
  // NOT_FOUND, a misfit INVALID_ARGUMENT, and then nothing was filled. After any other error the memory holds anything.
  virtual void read(const SaverUse& saver, const std::vector<NamedTensor>& targets) const = 0;
};

// When the checksums of the files that the saver wrote are looked at.
enum class CheckFiles {
  kWhenOpened,
  // By read(), in the pass that fills the caller's memory: twice as fast, and damage shows only behind it. Lengths and
  // the host's own files are looked at when it is opened. What the saver changes in a large tensor after it was read
  // stays unseen.
  kWhenRead,
};

class CheckpointReader final : public StoredTensors {
 public:
  // Checks index, state, and the length and checksum of every file.
  static std::unique_ptr<CheckpointReader> open(std::unique_ptr<OpenDirectory> directory,
                                                CheckFiles check = CheckFiles::kWhenOpened);

  const std::string& path() const override { return directory_->path(); }
  // The last part of the path: "model.ckpt-2000".
  std::string name() const;
  const CheckpointIndex& index() const noexcept { return index_; }
  const RunState& state() const noexcept { return state_; }
  // What the model's training learned of its data, as JSON (data/schema.h); empty: the checkpoint has none.
  std::string schema() const;
  std::vector<TensorInfo> tensors() const override;
  void read(const SaverUse& saver, const std::vector<NamedTensor>& targets) const override;

 private:
  CheckpointReader(std::unique_ptr<OpenDirectory> directory, CheckpointIndex index, RunState state, CheckFiles check);
  void check_unread(const SaverDirectory& read) const;

  std::unique_ptr<OpenDirectory> directory_;
  CheckpointIndex index_;
  RunState state_;
  CheckFiles check_;
};

// Anything that a user may name: a checkpoint's directory, a run directory (its newest whole checkpoint), the file
// `best` of a run directory (the best whole one of that list), or one file of somebody else's that `saver` can read
// (without checksums, since it has no index).
std::unique_ptr<StoredTensors> open_stored_tensors(FileSystem& files, const std::string& path, const SaverUse& saver,
                                                   Logger& log);

}  // namespace belay::runtime
