// SPDX-License-Identifier: Apache-2.0
// `belay report` and `belay compare` show the results of trainings. Both read run directories, also while a run trains,
// and load no plugin.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "belay/error.h"
#include "runtime/platform/files/file_system.h"
#include "runtime/report/run_record.h"

namespace belay::runtime {

// Returns the runs of the paths. `err` gets a line for each torn or damaged file. `damaged`: whether there is one.
std::vector<RunRecord> read_runs(FileSystem& files, const std::vector<std::string>& paths, std::ostream& err,
                                 bool& damaged);

// A table of the metrics' best and last values; empty if there are none.
std::string metrics_text(const std::vector<RunRecord>& runs, const std::function<bool(const std::string&)>& wanted,
                         const std::string& indent);

// The status after an error that ends either command.
int report_error(const Error& error, std::ostream& err);

}  // namespace belay::runtime
