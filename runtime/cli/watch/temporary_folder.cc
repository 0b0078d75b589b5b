// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/watch/temporary_folder.h"

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "runtime/cli/arguments/command.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

std::atomic<const std::string*> temporary_folder{nullptr};

}  // namespace

TemporaryFolder::TemporaryFolder(const std::string& name) {
  const char* parent = std::getenv("TMPDIR");
  const std::string wanted = std::string(parent == nullptr || *parent == 0 ? "/tmp" : parent) + "/belay-" + name;
  path_ = wanted + "-XXXXXX";
  if (::mkdtemp(path_.data()) == nullptr) {
    const int error = errno;
    throw UsageError("[B5009] belay: cannot make a folder " + single_quoted(wanted + "-XXXXXX") + ": " +
                     std::strerror(error) + "; set TMPDIR to a folder that this user can write");
  }
  temporary_folder = &path_;
}

TemporaryFolder::~TemporaryFolder() { remove_now(); }

// Another thread may write something into a folder after this has looked at its entries.
void TemporaryFolder::remove_now() noexcept {
  constexpr int kTries = 10;
  const std::string* path = temporary_folder.exchange(nullptr);
  std::error_code error;
  for (int i = 0; path != nullptr && i < kTries; ++i) {
    std::filesystem::remove_all(*path, error);
    if (!error && !std::filesystem::exists(*path, error)) return;
  }
}

}  // namespace belay::runtime
