// SPDX-License-Identifier: Apache-2.0
// Makes folders inside of a run's directory.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "runtime/platform/files/file_system.h"

namespace belay::runtime {

// Makes the missing folders of `below`, "export/onnx", in the directory `path`, which may lead through symbolic links.
// FAILED_PRECONDITION names a part of `below` that is a link, since new folders would be outside of `path`.
std::unique_ptr<OpenDirectory> make_directories_in(FileSystem& files, const std::string& path, std::string_view below);
// Does the same in an open directory, even if it was moved. `below` is not empty.
std::unique_ptr<OpenDirectory> make_directories_in(OpenDirectory& directory, std::string_view below);

}  // namespace belay::runtime
