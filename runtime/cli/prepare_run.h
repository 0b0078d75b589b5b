// What the commands that work on a manifest have in common: all that comes before a run directory.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/cli/crash_report.h"
#include "runtime/cli/training_run.h"
#include "runtime/cli/watchdog.h"

namespace belay::runtime {

World make_world(Logger& log);

// A text of several lines as that many lines of the log.
void log_error(Logger& log, std::string_view text);

// A run, what it says where a plugin crashes, and what ends it where one hangs: from the moment that the first is
// loaded.
struct PreparedRun {
  std::unique_ptr<TrainingRun> run;
  std::optional<CrashReport> crash_report;
  std::optional<Watchdog> watchdog;
};

// Up to the point where nothing has been written: manifest, plugins, inputs, graph. Gives an exit status, kExitDone to
// go on. Each stage's problems are told here.
int prepare_run(PreparedRun& prepared, const std::string& file, const std::vector<std::string>& sets,
                const TrainingRunOptions& options, const World& world, RunControl& control);

}  // namespace belay::runtime
