// SPDX-License-Identifier: Apache-2.0
// Turns the dynamic linker's message into a LoadError with a fix.
#pragma once

#include <string>

#include "runtime/loader/file/load_error.h"

namespace belay::runtime {

// `text` is dlerror's message when `path` was loaded. It walks the file's dependencies to find the kind: missing_dep,
// symbol_version, undefined, static_tls, else load_failed.
LoadError explain_linker_error(const std::string& path, const std::string& text, const std::string& library_path);

// Returns "trainer::step(int)"; a name that is not mangled stays unchanged.
std::string demangled(const std::string& symbol);

}  // namespace belay::runtime
