// SPDX-License-Identifier: Apache-2.0
// [session] hooks_on_all_ranks: which hooks of a manifest each process of a run has, and which the chief alone.
#pragma once

#include <vector>

#include "runtime/loader/library/resolve.h"
#include "runtime/manifest/diagnostics.h"
#include "runtime/manifest/manifest.h"

namespace belay::runtime {

// Whether it lists this one: by its name, else by its plugin's.
bool on_all_ranks(const Manifest& manifest, const PluginUse& hook);

// A name of which the manifest has no hook, or two; a hook that another rank cannot do without. `hooks` are those of
// the run, in its order, with the defaults in front.
void check_hooks_on_all_ranks(const Manifest& manifest, const std::vector<PluginUse>& hooks,
                              const std::vector<ResolvedPlugin>& found, Diagnostics& problems);

}  // namespace belay::runtime
