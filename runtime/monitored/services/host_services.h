// SPDX-License-Identifier: Apache-2.0
// Every service that a host of sessions offers to plugins.
#pragma once

#include "runtime/loader/instance/host.h"

namespace belay::runtime {

// Adds all tables except "core", which exists already. The owners of their contexts (RunEvents, RunSaver) set them.
void add_session_services(HostServices& services);

}  // namespace belay::runtime
