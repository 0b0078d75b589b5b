// SPDX-License-Identifier: Apache-2.0
// Makes one page about a run, or about several runs beside each other. It is one file that opens without a network. It
// has its style and its drawings, no script, and a rule that forbids the browser to load anything. It is also
// well-formed XML.
//
// A hundred thousand points become lines of a few hundred points each. A page of one run stays below 3 MB. [any thread]
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/report/run_record.h"

namespace belay::runtime {

// `written_ns` is the current time since 1970. `runs` is not empty.
std::string page_of(const std::vector<RunRecord>& runs, std::int64_t written_ns);

}  // namespace belay::runtime
