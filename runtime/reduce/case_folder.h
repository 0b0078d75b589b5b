// SPDX-License-Identifier: Apache-2.0
// Writes a FailingCase into a folder that can be run there or sent to somebody:
//
//   manifest.toml     its paths are relative to the folder; run.dir is "run"
//   data.npz          arrays "features" and "label", the captured examples
//   start/            the checkpoint for the warm start, or to continue from
#pragma once

#include <string>
#include <vector>

#include "runtime/checkpoint/format/saver_tensors.h"
#include "runtime/platform/files/file_system.h"
#include "runtime/platform/log/logger.h"
#include "runtime/platform/threads/clock.h"
#include "runtime/reduce/failing_case.h"

namespace belay::runtime {

// True if data.npz and the input npy can hold them: one feature and at most one label, both of numbers.
bool can_capture(const std::vector<InputComponent>& components);

class CaseFolder {
 public:
  struct Services {
    FileSystem& files;
    const Clock& clock;
    Logger& log;
    SaverUse npz;
  };
  // The folder `path` exists. Borrows `captured`.
  CaseFolder(std::string path, const CapturedBatches& captured, const Services& services)
      : path_(std::move(path)), captured_(captured), services_(services) {}

  const std::string& path() const noexcept { return path_; }
  // Writes data only if it differs from the last time. The caller puts the checkpoint into start/.
  void write(const FailingCase& failing);

 private:
  void write_data(const FailingCase& failing);

  const std::string path_;
  const CapturedBatches& captured_;
  const Services services_;
  std::vector<std::size_t> batches_, rows_;  // those that were written
};

// Returns the manifest that write() writes, with input, steps, directory and warm start filled in.
TomlTable written_manifest(const FailingCase& failing, const CapturedBatches& captured);

}  // namespace belay::runtime
