// SPDX-License-Identifier: Apache-2.0
// `belay doctor [DIR]` prints the facts of this machine for a training, and what is odd about it. The facts are
// processor, load, limits, clock, the disk of a folder, the time of a sync, and the folders of plugins. It loads no
// plugin. It writes and removes one small file in DIR.
#pragma once

#include <ostream>
#include <string>

#include "runtime/loader/file/search.h"

namespace belay::runtime {

// `version` is printed as a separate line. Returns the exit status: 0, also if something is odd; 2 if `directory`
// cannot be written.
int doctor_command(const std::string& directory, const std::string& version, const PluginSearch& search,
                   std::ostream& out);

}  // namespace belay::runtime
