// SPDX-License-Identifier: Apache-2.0
// The work of a traced run as TensorBoard's graph page shows it: time and memory of each node.
#pragma once

#include <string>

#include "runtime/session/direct_session.h"

namespace belay::runtime {

// Returns a serialized RunMetadata message. Its nodes are on one device, the processor, and their times are of the
// monotonic clock.
std::string serialized_run_metadata(const RunMetadata& run);

}  // namespace belay::runtime
