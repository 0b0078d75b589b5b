// SPDX-License-Identifier: Apache-2.0
// One array of an .npz file, which is a zip archive of .npy files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace npy_input {

// The .npy file of that array, stored or deflated, its checksum tested. Else an Error that names option, file, array
// and what the archive has. An empty name: an Error that lists the arrays.
std::vector<char> read_npz_member(std::string_view option, const std::string& path, const std::string& array);

}  // namespace npy_input
