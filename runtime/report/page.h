// SPDX-License-Identifier: Apache-2.0
// One page about a run, or about several beside each other: a file for itself that opens without a network. It holds
// its style and its drawings, no script, and a rule for the browser that forbids to load anything. It is well-formed
// XML too.
//
// A hundred thousand points become lines of a few hundred points each; a page of one run stays below 3 MB. [any thread]
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/report/run_record.h"

namespace belay::runtime {

// `written_ns`: now, since 1970. `runs` is not empty.
std::string page_of(const std::vector<RunRecord>& runs, std::int64_t written_ns);

}  // namespace belay::runtime
