// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include "runtime/checkpoint/directory/run_lock.h"
#include "runtime/checkpoint/directory/sibling_run.h"
#include "runtime/checkpoint/format/names.h"
#include "runtime/checkpoint/read/basename.h"
#include "runtime/estimator/host/run_hparams.h"
#include "runtime/estimator/run/prepare.h"
#include "runtime/monitored/run/attempt_mark.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {

void take_directory(PreparedRun& run) {
  try {
    run.host.take_directory();
  } catch (const RunInUse& e) {
    const std::string why = run.strategy->why_apart();
    if (why.empty()) throw;
    throw RunInUse(e.code(), std::string(e.message()) + "; " + why);
  }
}

void tell_last_attempt(const PreparedRun& run) {
  const std::string& dir = run.manifest.run.dir;
  try {
    if (dir.empty() || !run.host.files().exists(dir)) return;
    const std::string how = AttemptMark::last_attempt(*run.host.files().open_directory(dir));
    if (!how.empty()) run.host.log().warning("", how);
  } catch (const Error&) {  // the stage that needs the directory reports it
  }
}

namespace {

// This deletes nothing: it moves the files of an earlier run to a directory beside it.
void start_over(RunHost& host) {
  OpenDirectory& directory = host.directory();
  std::vector<std::string> found;
  for (const std::string& name : directory.entries())
    if (name != kLockName && name != kAttemptName && name != kAttemptsName && name.rfind("before-", 0) != 0)
      found.push_back(name);
  if (found.empty()) return;
  std::string aside;
  for (int i = 1;; ++i) {
    aside = fmt::format("before-{}", i);
    if (!directory.exists(aside)) break;
  }
  directory.make_directory(aside);
  for (const std::string& name : found)
    host.files().rename(directory.path() + "/" + name, directory.path() + "/" + aside + "/" + name);
  directory.sync();
  host.log().info("", "--from-scratch: what an earlier run left is now in " + escaped(directory.path()) + "/" + aside);
}

// This is the only sign of a mistyped name.
void say_new_run(PreparedRun& run) {
  const OpenDirectory& directory = run.host.directory();
  std::string text = "a new run in " + escaped(directory.path());
  if (!run.options.from_scratch)
    if (const auto sibling = find_sibling_run(run.host.files(), directory.path(), run.model.graph.variables_digest()))
      text += fmt::format(
          "; {} holds checkpoints of this model, the newest of step {}: to continue from there, set run.dir",
          escaped(sibling->path), sibling->step);
  run.host.log().info("", text);
}

// Writes the last attempt's manifest, and a separate file for each attempt beside it.
void write_manifest(RunHost& host, const std::string& manifest) {
  const std::string attempt = std::to_string(host.attempt());
  const std::string number = std::string(attempt.size() < 4 ? 4 - attempt.size() : 0, '0') + attempt;
  host.directory().replace("manifest-" + number + ".toml", manifest);
  host.directory().replace(kManifestName, manifest);
}

}  // namespace

void open_directory(PreparedRun& run) {
  if (!run.host.has_directory()) return;
  run.host.keep_directory();
  if (run.options.from_scratch) start_over(run.host);
  const OpenDirectory& directory = run.host.directory();
  run.begins_anew = !directory.exists(kStateFileName) && basenames_in(directory).empty();
  if (run.begins_anew && run.strategy->own_run()) say_new_run(run);
  write_manifest(run.host, run.resume.manifest_to_keep());
  run.training.open_events();
  if (run.training.events() != nullptr) write_run_hparams(*run.training.events(), run.host.clock(), run.manifest);
}

}  // namespace belay::runtime
