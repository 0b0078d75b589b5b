// SPDX-License-Identifier: Apache-2.0
// A directory that is gone after the test, also where the test made parts of it unreadable.
#pragma once

#include <filesystem>
#include <string>
#include <system_error>

#include "belay/testing/temporary_folder.h"

namespace belay::runtime {

class TempDir {
 public:
  TempDir() = default;
  ~TempDir() {
    std::error_code ignored;
    // A file that a test made unreadable could not be removed otherwise.
    for (std::filesystem::recursive_directory_iterator it(path(), ignored), end; it != end; it.increment(ignored))
      if (it->is_directory(ignored) && !it->is_symlink(ignored))
        std::filesystem::permissions(it->path(), std::filesystem::perms::owner_all, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::string& path() const { return folder_.path(); }
  // A path inside.
  std::string operator/(const std::string& name) const { return folder_.file(name); }

 private:
  belay::testing::TemporaryFolder folder_;
};

}  // namespace belay::runtime
