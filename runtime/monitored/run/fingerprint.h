// SPDX-License-Identifier: Apache-2.0
// The properties that a continued run and the writer of its checkpoint must share to end with the same bits.
#pragma once

#include <string>
#include <vector>

#include "runtime/checkpoint/format/content.h"
#include "runtime/loader/library/registry.h"
#include "runtime/monitored/run/run_environment.h"

namespace belay::runtime {

// Returns the fingerprint of this program, its session settings and the libraries that it has loaded.
Fingerprint fingerprint_of(const RunEnvironment& environment, const Registry& plugins);

// Returns texts such as "threads was 2, is 1": differences with a possible effect on the bits of a continued run. A
// plugin of only one of them is no difference.
std::vector<std::string> differences_between(const Fingerprint& stored, const Fingerprint& own);

}  // namespace belay::runtime
