// SPDX-License-Identifier: Apache-2.0
// Reads one array of an .npz file, a zip archive of .npy files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace npy_input {

// Returns the .npy file of that array, stored or deflated, with its checksum checked. Else it throws an Error with the
// option, the file, the array and the archive's arrays. An empty name also returns this list.
std::vector<char> read_npz_member(std::string_view option, const std::string& path, const std::string& array);

}  // namespace npy_input
