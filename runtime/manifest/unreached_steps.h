// SPDX-License-Identifier: Apache-2.0
// Steps that a manifest names and its run never comes to. [any thread]
#pragma once

#include <string>
#include <vector>

#include "runtime/manifest/manifest.h"

namespace belay::runtime {

// A warning for each, with the key's place: a warm-up that ends after max_steps, a group that is trained from then on.
std::vector<std::string> unreached_steps(const Manifest& manifest);

}  // namespace belay::runtime
