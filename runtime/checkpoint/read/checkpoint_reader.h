// SPDX-License-Identifier: Apache-2.0
// Reads a checkpoint. Nothing is mapped into memory and nothing is trusted. The index is checked as a whole. Every file
// is checked against it when the checkpoint is opened. If all of it is read anyway, it is checked during the read.
// Every tensor is checked against it when it is read.
//
//   const auto checkpoint = CheckpointReader::open(run.open_directory("model.ckpt-2000"));
//   for (const TensorInfo& t : checkpoint->tensors()) ...
//   checkpoint->read(saver, {{"hidden/kernel", view_of_my_buffer}});
//
// DATA_LOSS names file, expected and found: it is damaged. FAILED_PRECONDITION: it has another format, or is another
// saver's. Use it from one thread at a time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/checkpoint/format/content.h"
#include "runtime/checkpoint/format/index.h"
#include "runtime/checkpoint/format/saver_tensors.h"
#include "runtime/platform/files/file_system.h"
#include "runtime/platform/log/logger.h"

namespace belay::runtime {

class SaverDirectory;

// Tensors in files: one of belay's checkpoints, or a file that a saver understands.
class StoredTensors {
 public:
  virtual ~StoredTensors() = default;
  virtual const std::string& path() const = 0;
  // Sorted by name.
  virtual std::vector<TensorInfo> tensors() const = 0;
  // Fills the caller's memory. Each target is a tensor of the list, with its dtype and shape. NOT_FOUND: another name.
  // INVALID_ARGUMENT: it does not fit. Then nothing was filled. After any other error the memory may have any content.
  virtual void read(const SaverUse& saver, const std::vector<NamedTensor>& targets) const = 0;
};

// When the checksums of the saver's files are checked.
enum class CheckFiles {
  kWhenOpened,
  // The files are checked by read(), in the pass that fills the caller's memory. This is twice as fast, but shows
  // damage only afterwards. Lengths and the host's files are checked when it is opened. Changes that the saver makes to
  // a large tensor after its read are not found.
  kWhenRead,
};

class CheckpointReader final : public StoredTensors {
 public:
  // Checks index, state, and the length and checksum of every file.
  static std::unique_ptr<CheckpointReader> open(std::unique_ptr<OpenDirectory> directory,
                                                CheckFiles check = CheckFiles::kWhenOpened);

  const std::string& path() const override { return directory_->path(); }
  // Returns the last part of the path: "model.ckpt-2000".
  std::string name() const;
  const CheckpointIndex& index() const noexcept { return index_; }
  const RunState& state() const noexcept { return state_; }
  // Returns the schema that the model's training learned, as JSON (data/schema.h); empty: the checkpoint has none.
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

// Opens anything that a user may name: a checkpoint's directory, a run directory (its newest whole checkpoint), or the
// file `best` in one (the best whole one of that list). It also opens one foreign file that `saver` can read, without
// checksums, since it has no index.
std::unique_ptr<StoredTensors> open_stored_tensors(FileSystem& files, const std::string& path, const SaverUse& saver,
                                                   Logger& log);

}  // namespace belay::runtime
