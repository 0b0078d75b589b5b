// SPDX-License-Identifier: Apache-2.0
#include "runtime/platform/files/directories_in.h"

#include <algorithm>
#include <utility>

#include "belay/error.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {

std::unique_ptr<OpenDirectory> make_directories_in(FileSystem& files, const std::string& path, std::string_view below) {
  std::unique_ptr<OpenDirectory> directory = files.make_directories(path);
  return below.empty() ? std::move(directory) : make_directories_in(*directory, below);
}

std::unique_ptr<OpenDirectory> make_directories_in(OpenDirectory& directory, std::string_view below) {
  std::unique_ptr<OpenDirectory> made;
  for (OpenDirectory* at = &directory; !below.empty(); at = made.get()) {
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
    made = at->open_directory(name);
  }
  return made;
}

}  // namespace belay::runtime
