// SPDX-License-Identifier: Apache-2.0
#include "runtime/platform/directories_in.h"

#include <algorithm>

#include "belay/error.h"
#include "runtime/platform/text.h"

namespace belay::runtime {

std::unique_ptr<OpenDirectory> make_directories_in(FileSystem& files, const std::string& path, std::string_view below) {
  std::unique_ptr<OpenDirectory> at = files.make_directories(path);
  while (!below.empty()) {
    const std::string_view name = below.substr(0, below.find('/'));
    below.remove_prefix(std::min(below.size(), name.size() + 1));
    if (!at->exists(name)) try {
        at->make_directory(name);
        at->sync();
      } catch (const Error&) {
        if (!at->exists(name)) throw;  // otherwise another process was faster
      }
    if (at->status(name).kind == FileKind::kSymlink)
      fail(Code::kFailedPrecondition, single_quoted(at->path() + "/" + std::string(name)) +
                                          " is a symbolic link, which could lead out of the run directory; remove it");
    at = at->open_directory(name);
  }
  return at;
}

}  // namespace belay::runtime
