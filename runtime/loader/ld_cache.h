// SPDX-License-Identifier: Apache-2.0
// The dynamic linker's cache, /etc/ld.so.cache: where system libraries lie. Read only to explain and to describe; what
// is loaded, the dynamic linker decides.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace belay::runtime {

// From a library's name ("libz.so.1") to its path, of libraries for this machine; the first of several. Empty if `text`
// is no cache in the format of glibc 2.2 or later.
std::map<std::string, std::string, std::less<>> parse_ld_cache(std::string_view text);
std::map<std::string, std::string, std::less<>> read_ld_cache();

}  // namespace belay::runtime
