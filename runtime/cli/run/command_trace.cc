// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/run/command_trace.h"

#include <fmt/core.h>

#include <filesystem>
#include <memory>

#include "runtime/cli/arguments/exit_status.h"

namespace belay::runtime {

CommandTrace::CommandTrace(PreparedRun& run, const std::string& file) : run_(run) {
  std::filesystem::path path =
      std::filesystem::absolute(file.empty() ? run.strategy->directory() + "/trace.json" : file);
  if (const int rank = run.strategy->rank(); rank != 0)
    path.replace_filename(fmt::format("{}-{}{}", path.stem().string(), rank, path.extension().string()));
  RunHost& host = run.host;
  const std::string folder = path.parent_path();
  // A worker may be here before the chief has made the directory.
  const std::unique_ptr<OpenDirectory> directory =
      file.empty() ? host.files().make_directories(folder) : host.files().open_directory(folder);
  trace_.emplace(*directory, path.filename(), host.clock(), host.log());
  observing_.emplace(&*trace_);
  host.trace_into(&*trace_);
}

CommandTrace::~CommandTrace() { run_.host.trace_into(nullptr); }

int open_trace(std::optional<CommandTrace>& trace, PreparedRun& run, const std::string& file) {
  Logger& log = run.host.log();
  if (file.empty() && run.strategy->directory().empty()) {
    log.error("", "[B5006] --trace needs a file if [run] has no dir: give --trace=FILE");
    return kExitUsage;
  }
  try {
    trace.emplace(run, file);
    return kExitDone;
  } catch (const Error& e) {
    log.error("", std::string("[B5009] the trace cannot be written: ") + e.what() +
                      "\n  help: give --trace=FILE with a file in an existing folder that this user can write");
    return kExitUsage;
  }
}

}  // namespace belay::runtime
