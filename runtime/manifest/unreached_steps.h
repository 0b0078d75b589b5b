// SPDX-License-Identifier: Apache-2.0
// Finds steps in a manifest that its run never reaches. [any thread]
#pragma once

#include <string>
#include <vector>

#include "runtime/manifest/manifest.h"

namespace belay::runtime {

// Returns a warning for each, with the key's place: a warm-up that ends after max_steps, or a group whose training
// begins after it.
std::vector<std::string> unreached_steps(const Manifest& manifest);

}  // namespace belay::runtime
