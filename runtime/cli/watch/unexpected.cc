// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/watch/unexpected.h"

#include <filesystem>
#include <system_error>

#include "belay/error.h"
#include "runtime/platform/process/resources.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

// The user may have removed the current directory while a shell was in it.
std::string without_current_directory() {
  std::error_code error;
  static_cast<void>(std::filesystem::current_path(error));
  if (!error) return "";
  return "the current directory cannot be used: " + error.message() +
         "\n  help: it was probably removed; change to one that exists";
}

}  // namespace

std::string unexpected_text(const std::exception& e) {
  if (const std::string shortage = resource_shortage(e); !shortage.empty()) return "error: " + shortage;
  const std::string what = escaped(detail::text_of(e));
  if (dynamic_cast<const std::filesystem::filesystem_error*>(&e) != nullptr) {
    const std::string directory = without_current_directory();
    return directory.empty() ? what : directory;
  }
  return "belay ended with an unexpected error, which is a bug of ours: " + what;
}

}  // namespace belay::runtime
