// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/watch/watched_run.h"

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "runtime/api/log.h"
#include "runtime/api/run_driver.h"
#include "runtime/cli/arguments/exit_status.h"
#include "runtime/cluster/launcher.h"
#include "runtime/estimator/problems/data_problem.h"
#include "runtime/loader/file/load_error.h"
#include "runtime/manifest/parse.h"
#include "runtime/platform/process/stacks.h"

namespace belay::runtime {
namespace {

nlohmann::ordered_json diagnostic_json(const Diagnostic& d) {
  return {{"file", d.at.file}, {"line", d.at.line},    {"column", d.at.column}, {"length", d.length},
          {"code", d.code},    {"message", d.message}, {"help", d.help}};
}

// A process that evaluates is outside the group of the training processes.
std::optional<Manifest> manifest_of(const ManifestArguments& arguments, const Environment& environment,
                                    Diagnostics& problems) {
  std::optional<Manifest> manifest = parse_manifests(arguments.manifests, arguments.sets, environment, problems);
  if (!manifest || !problems.empty() || !manifest->cluster || !trains(manifest->run.mode) ||
      !launched_to_evaluate(environment))
    return manifest;
  std::vector<std::string> sets = arguments.sets;
  sets.emplace_back("run.mode=continuous_eval");
  return parse_manifests(arguments.manifests, sets, environment, problems);
}

}  // namespace

void WatchedRun::close() {
  set(Life::kCloses);
  if (watchdog) watchdog->progress();
  run.reset();
  set(Life::kIsOver);
  watchdog.reset();
  end_report.reset();  // its monitors were the run's
}

void WatchedRun::set(Life life) noexcept {
  const std::lock_guard lock(mutex_);
  life_ = life;
}

// The monitors are the run's, and outlive its instances.
std::string WatchedRun::activity() const {
  const std::lock_guard lock(mutex_);
  if (life_ == Life::kRuns) return run != nullptr ? run->activity() : "";
  return life_ == Life::kCloses && end_report ? calls_in_progress(end_report->monitors()) : "";
}

Platform make_platform(Logger& log) { return {system_clock(), log, posix_file_system()}; }

void print(const Diagnostics& problems, const ManifestArguments& arguments) {
  if (arguments.json_diagnostics) {
    for (const Diagnostic& d : problems.sorted())
      std::cerr << diagnostic_json(d).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) << "\n";
  } else {
    std::cerr << problems.text();
  }
  std::cerr << std::flush;
}

WatchedRun::WatchedRun(const Platform& of, RunControl& controlled_by, ManifestArguments arguments)
    : platform(of), control(controlled_by), given(std::move(arguments)) {
  install_stack_signal();
}

std::string WatchedRun::end_text(const std::string& what, const Error& error) {
  return "[B2046] " + what + error.what();
}

void WatchedRun::report_error(const std::string& what, const Error& error) const {
  Diagnostics of_data;
  std::string text = end_text(what, error);
  // If the error names several places, the log has only the first.
  if (add_data_problems(run->plugins.found().inputs, error, of_data))
    text.resize(std::min(text.find("\\n"), text.size()));
  platform.log.status_line("");
  log_error(platform.log, text);
  platform.log.flush();
  print(of_data, given);
}

void WatchedRun::refused(const Diagnostics& found) {
  const Diagnostic first = found.sorted().front();
  first_wrong = at_text(first.at) + coded_message(first);
  platform.log.flush();
  print(found, given);
}

void WatchedRun::failed(RunPart part, const Error& error, Diagnostics& found) {
  const auto* of_plugin = dynamic_cast<const LoadError*>(&error);
  const bool of_scaffold = part == RunPart::kScaffold && of_plugin == nullptr;
  if (of_plugin != nullptr && of_plugin->place().line != 0) {
    found.add(of_plugin->place(), of_plugin->headline(), of_plugin->help());
    return refused(found);
  }
  if (!of_scaffold || !add_data_problems(run->plugins.found().inputs, error, found)) {
    const std::string what = part == RunPart::kHooks ? "training ended with an error: " : "";
    first_wrong = what + error.what();
    log_error(platform.log, end_text(what, error));
  }
  if (of_scaffold && !found.empty()) refused(found);
}

WatchedRun::~WatchedRun() { close(); }

int WatchedRun::find() { return find(manifest_of(given, process_environment(), problems)); }

int WatchedRun::find(std::optional<Manifest> manifest) {
  if (!manifest) {
    refused(problems);
    return kExitUsage;
  }
  auto made = std::make_unique<PreparedRun>(std::move(*manifest), options, platform, process_environment(), control);
  {
    const std::lock_guard lock(mutex_);
    run = std::move(made);
  }
  const RunStatus status = RunDriver(*run, problems, *this).prepare(Preparation::kNames);
  if (status != RunStatus::kDone) return static_cast<int>(status);
  const double no_progress_secs = run->manifest.session.no_progress_secs;
  end_report.emplace(run->host.monitors(), run->manifest.run.dir, no_progress_secs);
  watchdog.emplace(WatchdogOptions{no_progress_secs,
                                   [this] { return activity(); },
                                   &control.disk(),
                                   {},
                                   [this] { control.save_beside_hook(); },
                                   [this] { return control.saves_beside_hook(); }},
                   platform.log, platform.clock);
  return kExitDone;
}

int WatchedRun::prepare(Preparation until) { return static_cast<int>(RunDriver(*run, problems, *this).prepare(until)); }

}  // namespace belay::runtime
