// SPDX-License-Identifier: Apache-2.0
// A directory that is gone after the test.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

namespace belay::runtime {

class TempDir {
 public:
  TempDir() {
    const char* parent = std::getenv("TMPDIR");
    path_ = (parent != nullptr && *parent != '\0' ? std::string(parent) : "/tmp") + "/belay_test.XXXXXX";
    if (::mkdtemp(path_.data()) == nullptr) throw std::system_error(errno, std::generic_category(), path_);
  }
  ~TempDir() {
    std::error_code ignored;
    // What a test made unreadable could not be removed otherwise.
    for (std::filesystem::recursive_directory_iterator it(path_, ignored), end; it != end; it.increment(ignored))
      if (it->is_directory(ignored) && !it->is_symlink(ignored))
        std::filesystem::permissions(it->path(), std::filesystem::perms::owner_all, ignored);
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::string& path() const { return path_; }
  // A path inside.
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace belay::runtime
