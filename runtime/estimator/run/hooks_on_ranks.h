// SPDX-License-Identifier: Apache-2.0
// [session] hooks_on_all_ranks decides which hooks of a manifest each process of a run has. The chief alone has the
// others.
#pragma once

#include <vector>

#include "runtime/loader/library/resolve.h"
#include "runtime/manifest/diagnostics.h"
#include "runtime/manifest/manifest.h"

namespace belay::runtime {

// Whether it lists this hook, by its name or else by its plugin's name.
bool on_all_ranks(const Manifest& manifest, const PluginUse& hook);

// Adds a problem for a name if the manifest has no hook of it, or two. It also adds one for a hook that may be
// disabled, since another rank may wait for it. `hooks` are those of the run, in its order, with the defaults in front.
void check_hooks_on_all_ranks(const Manifest& manifest, const std::vector<PluginUse>& hooks,
                              const std::vector<ResolvedPlugin>& found, Diagnostics& problems);

}  // namespace belay::runtime
