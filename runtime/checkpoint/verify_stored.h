// SPDX-License-Identifier: Apache-2.0
// Reads every byte of every checkpoint below a directory, and of files of tensors by others, and says of each whether
// it is whole. Changes nothing and takes no lock: what a run removes meanwhile is passed over.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "runtime/checkpoint/checkpoint_reader.h"
#include "runtime/checkpoint/saver_tensors.h"
#include "runtime/platform/file_system.h"
#include "runtime/platform/logger.h"

namespace belay::runtime {

struct VerifiedStored {
  std::string path;
  std::uint64_t tensors = 0;
  std::uint64_t bytes = 0;   // of the tensors that were read
  std::string digest = {};   // of the tensors (belay/state_digest.h), if all were read
  std::string problem = {};  // empty: it is whole
  // Why not every tensor was read: its saver is not there, or they are of types that belay does not have. Empty: all
  // were.
  std::string unread = {};
  bool has_saver = true;
};

struct VerifyOptions {
  // The saver of that name, loaded; null where there is none, and then checksums alone are looked at.
  std::function<const SaverUse*(const std::string& name)> saver;
  std::string saver_of_files = {};  // for a file, in place of what its name and content say
  std::function<void(const VerifiedStored&)> report;
};

// `path`: a directory, which is walked without following links; a checkpoint; or a file. NOT_FOUND where it is not
// there, INVALID_ARGUMENT for a file that no saver is known for.
void verify_stored(FileSystem& files, const std::string& path, const VerifyOptions& options, Logger& log);

}  // namespace belay::runtime
