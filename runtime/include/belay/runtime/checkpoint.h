// SPDX-License-Identifier: Apache-2.0
// Reads checkpoints in a program: the results of a training, as tensors.
//
//   const belay::CheckpointReader trained(belay::latest_checkpoint("/tmp/run"), belay::default_plugins());
//   for (const belay::Checkpoint::Entry& e : trained.entries()) std::printf("%s\n", e.name.c_str());
//   const Tensor kernel = trained.read("hidden/kernel");
//
// It takes no lock, so a training may continue at the same time. The functions have TensorFlow's names. Hooks and init
// functions read checkpoints through their host (belay/checkpoint.h). docs/reference/checkpoint.md lists the files of a
// directory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "belay/abi.h"
#include "belay/checkpoint.h"

namespace belay {

// Path of the newest whole checkpoint of a run directory. It is empty if the directory does not exist or has no
// checkpoint. It throws if every checkpoint in it is damaged.
std::string latest_checkpoint(const std::string& directory);

// One open checkpoint. Use it from one thread at a time.
class CheckpointReader {
 public:
  // `path` is one of four: a checkpoint's directory ("/tmp/run/model.ckpt-2000"), a run directory (its newest
  // checkpoint), its file "best" (the best one by an evaluation), or one file that the saver can read. `plugins` have
  // the saver: belay::default_plugins() for the usual saver, safetensors.
  //
  // It checks index, lengths and checksums of the files now, and each tensor when it is read. It keeps only the entries
  // in memory. NOT_FOUND: the path or the saver does not exist. FAILED_PRECONDITION: it is not a checkpoint, or another
  // saver wrote it. DATA_LOSS, with file and place: it is damaged.
  CheckpointReader(const std::string& path, const std::vector<const belay_module*>& plugins,
                   const std::string& saver = "safetensors");
  ~CheckpointReader();
  CheckpointReader(const CheckpointReader&) = delete;
  CheckpointReader& operator=(const CheckpointReader&) = delete;

  // Path of the checkpoint itself, also if the given path was a run directory.
  const std::string& path() const noexcept;
  // Global step of the checkpoint; -1: a file of another program, which has none.
  std::int64_t global_step() const noexcept;
  // Name, dtype and shape of each tensor, sorted by name. Variables have their nodes' names ("hidden/kernel"), an
  // optimizer's slots names such as "hidden/kernel/Adam".
  const std::vector<Checkpoint::Entry>& entries() const noexcept;
  // Null: the name is unknown.
  const Checkpoint::Entry* find(std::string_view name) const noexcept;
  // Returns a copy of the elements after a check of their checksum. NOT_FOUND, with the nearest name: the name is
  // unknown. DATA_LOSS: the checksum differs.
  Tensor read(const std::string& name) const;

 private:
  struct Insides;
  std::unique_ptr<Insides> insides_;
};

}  // namespace belay
