// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/prepare_run.h"

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "runtime/api/log.h"
#include "runtime/api/run_status.h"
#include "runtime/cli/exit_status.h"
#include "runtime/cluster/launcher.h"
#include "runtime/estimator/data_problem.h"
#include "runtime/loader/load_error.h"
#include "runtime/manifest/parse.h"

namespace belay::runtime {
namespace {

nlohmann::ordered_json diagnostic_json(const Diagnostic& d) {
  return {{"file", d.at.file},  {"line", d.at.line},    {"column", d.at.column},
          {"length", d.length}, {"message", d.message}, {"help", d.help}};
}

// A process that was started to evaluate is outside the group of those that train.
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

void report_error(Logger& log, const std::string& what, const Error& error, const ManifestRun& run,
                  const ManifestArguments& arguments) {
  Diagnostics problems;
  std::string text = what + error.what();
  // Of many places the first.
  if (add_data_problems(run.plugins().found().inputs, error, problems))
    text.resize(std::min(text.find("\\n"), text.size()));
  log.status_line("");
  log_error(log, text);
  log.flush();
  print(problems, arguments);
}

int prepare_run(PreparedRun& prepared, const ManifestArguments& arguments, const ManifestRunOptions& options,
                const Platform& platform, RunControl& control,
                const std::function<int(ManifestRun&, Diagnostics&)>& before_plugins) {
  Diagnostics problems;
  std::optional<Manifest> manifest = manifest_of(arguments, process_environment(), problems);
  return prepare_run(prepared, std::move(manifest), problems, arguments, options, platform, control, before_plugins);
}

int prepare_run(PreparedRun& prepared, std::optional<Manifest> manifest, Diagnostics& problems,
                const ManifestArguments& arguments, const ManifestRunOptions& options, const Platform& platform,
                RunControl& control, const std::function<int(ManifestRun&, Diagnostics&)>& before_plugins) {
  std::unique_ptr<ManifestRun>& run = prepared.run;
  const Environment environment = process_environment();
  bool plugins_usable = true;
  if (manifest) {
    run = std::make_unique<ManifestRun>(std::move(*manifest), options, platform, environment, control);
    plugins_usable = run->find_plugins(problems);
  }
  const auto show_problems = [&] {
    const Diagnostic first = problems.sorted().front();
    prepared.refusal = at_text(first.at) + first.message;
    platform.log.flush();
    print(problems, arguments);
  };
  if (!problems.empty()) {
    show_problems();
    return plugins_usable ? kExitUsage : kExitPlugin;
  }
  prepared.end_report.emplace(run->host().monitors(), run->manifest().run.dir);
  const ManifestRun& watched = *run;
  prepared.watchdog.emplace(WatchdogOptions{run->manifest().session.no_progress_secs,
                                            [&watched] { return watched.activity(); },
                                            &control.disk(),
                                            {},
                                            [&control] { control.save_beside_hook(); },
                                            [&control] { return control.saves_beside_hook(); }},
                            platform.log, platform.clock);
  const auto show_error = [&](const std::string& what) {
    prepared.refusal = what;
    log_error(platform.log, what);
  };
  const auto show_load_error = [&](const LoadError& e) {
    if (e.place().line == 0) return show_error(e.what());
    problems.add(e.place(), e.headline(), e.help());
    show_problems();
  };
  const auto ended_by = [](RunPart part, const Error& e) { return static_cast<int>(status_of(part, e)); };
  const auto refused = [&] {
    if (!problems.empty()) show_problems();
    return !problems.empty();
  };
  if (before_plugins)
    if (const int status = before_plugins(*run, problems); status != kExitDone) return status;
  if (refused()) return kExitUsage;
  try {
    run->load_plugins(problems);
  } catch (const LoadError& e) {
    show_load_error(e);
    return ended_by(RunPart::kPlugins, e);
  } catch (const Error& e) {
    show_error(e.what());
    return ended_by(RunPart::kPlugins, e);
  }
  if (refused()) return kExitUsage;
  prepared.watchdog->progress();
  run->compare_fingerprint(problems);
  if (refused()) return kExitUsage;
  try {
    run->build_scaffold(problems);
  } catch (const LoadError& e) {  // of a hook that the model brings
    show_load_error(e);
    return ended_by(RunPart::kScaffold, e);
  } catch (const Error& e) {
    if (!add_data_problems(run->plugins().found().inputs, e, problems)) show_error(e.what());
    if (!problems.empty()) show_problems();
    return ended_by(RunPart::kScaffold, e);
  }
  prepared.watchdog->progress();
  if (problems.empty()) {
    try {
      run->begin_hooks(problems);
    } catch (const Error& e) {
      show_error(std::string("training ended with an error: ") + e.what());
      return ended_by(RunPart::kHooks, e);
    }
  }
  if (problems.empty()) return kExitDone;
  show_problems();
  return kExitUsage;
}

}  // namespace belay::runtime
