// SPDX-License-Identifier: Apache-2.0
// `belay bisect A B`: where two runs part. What their directories say first, then both replayed from the last step at
// which they are equal, each in a process of its own, and in the end the first step that differs, tensor by tensor.
#pragma once

#include <functional>
#include <ostream>

#include "runtime/cli/command_line.h"
#include "runtime/loader/file/search.h"
#include "runtime/platform/files/file_system.h"

namespace belay::runtime {

// An exit status: kExitDone where nothing that both have differs, kExitTrainingFailed where something does.
int bisect_command(const BisectArguments& arguments, FileSystem& files, const std::function<PluginSearch()>& search,
                   std::ostream& out, std::ostream& err);

}  // namespace belay::runtime
