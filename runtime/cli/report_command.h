// SPDX-License-Identifier: Apache-2.0
// `belay report` and `belay compare`: what became of trainings. Both read run directories, also while a run trains, and
// load no plugin.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "belay/error.h"
#include "runtime/cli/command_line.h"
#include "runtime/platform/files/file_system.h"
#include "runtime/platform/threads/clock.h"
#include "runtime/report/run_record.h"

namespace belay::runtime {

// Writes the page, and a summary to `out`. `utf8`: whether the terminal shows more than ASCII. Returns the exit status.
int report_command(const ReportArguments& arguments, FileSystem& files, const Clock& clock, bool utf8,
                   std::ostream& out, std::ostream& err);

int compare_command(const CompareArguments& arguments, FileSystem& files, std::ostream& out, std::ostream& err);

// The runs of the paths, with a line on `err` for what is torn or damaged. `damaged`: whether anything is.
std::vector<RunRecord> read_runs(FileSystem& files, const std::vector<std::string>& paths, std::ostream& err,
                                 bool& damaged);

// A table of the metrics' best and last values; empty where there are none.
std::string metrics_text(const std::vector<RunRecord>& runs, const std::function<bool(const std::string&)>& wanted,
                         const std::string& indent);

// Of an error that ends either command.
int report_error(const Error& error, std::ostream& err);

}  // namespace belay::runtime
