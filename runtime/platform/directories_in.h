// SPDX-License-Identifier: Apache-2.0
// Folders inside of a run's directory.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "runtime/platform/file_system.h"

namespace belay::runtime {

// Makes what is missing of `below`, "export/onnx", in the directory `path`, which may lie behind symbolic links. Its
// parts may be none: FAILED_PRECONDITION with the one that is, since what is made would lie outside of `path`.
std::unique_ptr<OpenDirectory> make_directories_in(FileSystem& files, const std::string& path, std::string_view below);
// The same in an open directory, wherever it was moved; `below` is not empty.
std::unique_ptr<OpenDirectory> make_directories_in(OpenDirectory& directory, std::string_view below);

}  // namespace belay::runtime
