// SPDX-License-Identifier: Apache-2.0
// Checkpoints, read by a program: what a training has learned, as tensors.
//
//   const belay::CheckpointReader trained(belay::latest_checkpoint("/tmp/run"), belay::default_plugins());
//   for (const belay::Checkpoint::Entry& e : trained.entries()) std::printf("%s\n", e.name.c_str());
//   const Tensor kernel = trained.read("hidden/kernel");
//
// It takes no lock: a training may go on beside it. TensorFlow's functions of these names. Hooks and init functions
// have the same through their host (belay/checkpoint.h). What lies in a directory: docs/reference/checkpoint.md.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "belay/abi.h"
#include "belay/checkpoint.h"

namespace belay {

// The path of the newest whole checkpoint of a run directory; empty where there is none, or no such directory. An error
// where checkpoints are there and each of them is damaged.
std::string latest_checkpoint(const std::string& directory);

class CheckpointReader {
 public:
  // `path`: a checkpoint's directory ("/tmp/run/model.ckpt-2000"); a run directory, of which it is the newest; its file
  // "best", the best one by an evaluation; or one file that the saver can read. `plugins` have the saver:
  // belay::default_plugins() for the usual one, safetensors.
  //
  // Index, lengths and checksums of the files are checked now, each tensor when it is read; nothing stays in memory but
  // the entries. NOT_FOUND: no such path, or no such saver; FAILED_PRECONDITION: it is no checkpoint, or another
  // saver's; DATA_LOSS with the file and the place: it is damaged.
  CheckpointReader(const std::string& path, const std::vector<const belay_module*>& plugins,
                   const std::string& saver = "safetensors");
  ~CheckpointReader();
  CheckpointReader(const CheckpointReader&) = delete;
  CheckpointReader& operator=(const CheckpointReader&) = delete;

  // Of the checkpoint itself, where `path` was a run directory.
  const std::string& path() const noexcept;
  // That it was saved at; -1: a file of another program, which does not say.
  std::int64_t global_step() const noexcept;
  // Name, dtype and shape of each tensor, sorted by name: variables by their nodes' names ("hidden/kernel"), with an
  // optimizer's slots beside them ("hidden/kernel/Adam").
  const std::vector<Checkpoint::Entry>& entries() const noexcept;
  // Null where there is no such tensor.
  const Checkpoint::Entry* find(std::string_view name) const noexcept;
  // A copy of its elements, checked by their checksum. NOT_FOUND with the nearest name; DATA_LOSS. One thread at a
  // time.
  Tensor read(const std::string& name) const;

 private:
  struct Insides;
  std::unique_ptr<Insides> insides_;
};

}  // namespace belay
