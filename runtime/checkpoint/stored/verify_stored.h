// SPDX-License-Identifier: Apache-2.0
// Reads every byte of every checkpoint below a directory, and of foreign files of tensors. It reports which of them are
// whole. It changes nothing and takes no lock. It skips entries that a run removes meanwhile.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "runtime/checkpoint/format/saver_tensors.h"
#include "runtime/checkpoint/read/checkpoint_reader.h"
#include "runtime/platform/files/file_system.h"
#include "runtime/platform/log/logger.h"

namespace belay::runtime {

struct VerifiedStored {
  std::string path;
  std::uint64_t tensors = 0;
  std::uint64_t bytes = 0;   // of the tensors that were read
  std::string digest = {};   // of the tensors (belay/state_digest.h), if all were read
  std::string problem = {};  // empty: it is whole
  // The reason why some tensors were not read: there is no saver, or belay does not have their types. Empty: all were.
  std::string unread = {};
  bool has_saver = true;
};

struct VerifyOptions {
  // Returns the loaded saver of that name. Null: there is none, and only checksums are checked.
  std::function<const SaverUse*(const std::string& name)> saver;
  std::string saver_of_files = {};  // for a file, instead of the one by name and content
  std::function<void(const VerifiedStored&)> report;
};

// `path` is a directory, which is walked without following links, a checkpoint, or a file. NOT_FOUND: it does not
// exist. INVALID_ARGUMENT: no saver for the file is known.
void verify_stored(FileSystem& files, const std::string& path, const VerifyOptions& options, Logger& log);

}  // namespace belay::runtime
