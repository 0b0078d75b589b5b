// SPDX-License-Identifier: Apache-2.0
// The dynamic linker's cache, /etc/ld.so.cache, with the places of system libraries. It is read only to explain and to
// describe. The dynamic linker decides what is loaded.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace belay::runtime {

// Maps a library's name ("libz.so.1") to its path, for libraries of this machine; the first one counts. Empty: `text`
// is no cache in the format of glibc 2.2 or later.
std::map<std::string, std::string, std::less<>> parse_ld_cache(std::string_view text);
std::map<std::string, std::string, std::less<>> read_ld_cache();

}  // namespace belay::runtime
