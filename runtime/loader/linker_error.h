// SPDX-License-Identifier: Apache-2.0
// From the dynamic linker's words to a LoadError that says what to do.
#pragma once

#include <string>

#include "runtime/loader/load_error.h"

namespace belay::runtime {

// `text` is what dlerror said when `path` was loaded. Walks the file's dependencies to find out more:
// missing_dep, symbol_version, undefined, static_tls, else load_failed.
LoadError explain_linker_error(const std::string& path, const std::string& text, const std::string& library_path);

// "trainer::step(int)"; a name that is not mangled as it is.
std::string demangled(const std::string& symbol);

}  // namespace belay::runtime
