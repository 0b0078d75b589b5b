// SPDX-License-Identifier: Apache-2.0
// What a run that goes on from a checkpoint must share with the one that wrote it, to end with the same bits.
#pragma once

#include <string>
#include <vector>

#include "runtime/checkpoint/content.h"
#include "runtime/loader/registry.h"
#include "runtime/monitored/run_environment.h"

namespace belay::runtime {

// Of this program, with these settings of its sessions and the libraries that it has loaded.
Fingerprint fingerprint_of(const RunEnvironment& environment, const Registry& plugins);

// "threads was 2, is 1": what lets a run that goes on end with other bits. A plugin that only one of them has is no
// difference.
std::vector<std::string> differences_between(const Fingerprint& stored, const Fingerprint& own);

}  // namespace belay::runtime
