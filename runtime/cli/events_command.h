// SPDX-License-Identifier: Apache-2.0
// `belay events DIR`: what a run's event files hold.
#pragma once

#include <ostream>

#include "runtime/cli/command_line.h"
#include "runtime/platform/files/file_system.h"

namespace belay::runtime {

// Returns an exit status: 1 where a file is damaged; one that ends within a record is a warning.
int events_command(const EventsArguments& arguments, FileSystem& files, std::ostream& out, std::ostream& err);

}  // namespace belay::runtime
