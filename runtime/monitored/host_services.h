// SPDX-License-Identifier: Apache-2.0
// Every service that a host of sessions offers to plugins.
#pragma once

#include "runtime/loader/host.h"

namespace belay::runtime {

// Adds all tables but "core", which is there already. Their contexts (RunEvents, RunSaver) are set by who has them.
void add_session_services(HostServices& services);

}  // namespace belay::runtime
