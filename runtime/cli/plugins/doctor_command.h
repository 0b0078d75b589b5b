// SPDX-License-Identifier: Apache-2.0
// `belay doctor [DIR]`: what this machine is for a training, and what is odd about it: processor, load, limits, clock,
// the disk of a folder and how long it takes to sync, where plugins are looked for. Loads no plugin; writes and removes
// one small file in DIR.
#pragma once

#include <ostream>
#include <string>

#include "runtime/loader/file/search.h"

namespace belay::runtime {

// `version`: a line of its own. Returns the exit status: 0, also if something is odd; 2 if `directory` cannot be
// written.
int doctor_command(const std::string& directory, const std::string& version, const PluginSearch& search,
                   std::ostream& out);

}  // namespace belay::runtime
