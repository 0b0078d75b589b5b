// SPDX-License-Identifier: Apache-2.0
// `belay checkpoint ls|show|verify|diff|convert|rm|pin PATH`.
#pragma once

#include <functional>
#include <ostream>

#include "runtime/cli/command_line.h"
#include "runtime/loader/file/search.h"
#include "runtime/platform/files/file_system.h"

namespace belay::runtime {

// Returns an exit status. `search`: where savers are looked for; called when one is needed. Starts neither oneDNN nor a
// team of threads.
int checkpoint_command(const CheckpointArguments& arguments, FileSystem& files,
                       const std::function<PluginSearch()>& search, std::ostream& out, std::ostream& err);

}  // namespace belay::runtime
