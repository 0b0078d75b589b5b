// SPDX-License-Identifier: Apache-2.0
// A folder for one test, removed with all its contents at the end.
//
//   TemporaryFolder folder;
//   const std::string path = folder.write("rows.csv", "1,2\n3,4\n");
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

#include "belay/error.h"

namespace belay {
inline namespace v0 {
namespace testing {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "belay_test_XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) fail(Code::kInternal, "cannot make a folder like " + pattern);
    path_ = pattern;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::string& path() const noexcept { return path_; }
  std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }
  // Writes a file, or replaces an existing one; returns its path.
  std::string write(std::string_view name, std::string_view bytes) const {
    std::string path = file(name);
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    out.close();
    if (!out) fail(Code::kInternal, "cannot write " + path);
    return path;
  }

 private:
  std::string path_;
};

}  // namespace testing
}  // namespace v0
}  // namespace belay
