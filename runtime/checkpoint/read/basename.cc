// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/read/basename.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "belay/error.h"
#include "belay/runtime/checkpoint_settings.h"
#include "runtime/checkpoint/format/names.h"
#include "runtime/checkpoint/format/state_file.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

// Returns the basename of an existing checkpoint in the state file. None: there is no state file, or it is of no use
// (find_restorable reports that).
std::optional<std::string> basename_of_state_file(const OpenDirectory& run) {
  try {
    const std::optional<CheckpointState> state = read_checkpoint_state(run);
    if (!state) return std::nullopt;
    std::vector<std::string> paths{state->current};
    for (auto kept = state->kept.rbegin(); kept != state->kept.rend(); ++kept) paths.push_back(kept->path);
    for (const std::string& path : paths)
      if (const auto named = parse_checkpoint_name(path); named && run.exists(path)) return named->basename;
  } catch (const Error&) {
  }
  return std::nullopt;
}

bool has_index(const OpenDirectory& run, const std::string& entry) {
  try {
    return run.status(entry).kind == FileKind::kDirectory && run.open_directory(entry)->exists(kIndexName);
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

std::vector<std::string> basenames_in(const OpenDirectory& run) {
  std::vector<std::string> found;
  const auto add = [&](const std::string& basename) {
    if (std::find(found.begin(), found.end(), basename) == found.end()) found.push_back(basename);
  };
  if (const auto current = basename_of_state_file(run)) add(*current);
  for (const std::string& entry : run.entries()) {
    const auto named = parse_checkpoint_name(entry);
    if (named && (named->basename == kDefaultBasename || has_index(run, entry))) add(named->basename);
  }
  return found;
}

std::string basename_in(const OpenDirectory& run) {
  if (const auto current = basename_of_state_file(run)) return *current;
  const std::vector<std::string> found = basenames_in(run);
  return found.size() == 1 ? found[0] : std::string(kDefaultBasename);
}

void check_basename(const OpenDirectory& run, const std::string& basename) {
  if (!is_checkpoint_basename(basename))
    fail(Code::kInvalidArgument,
         fmt::format("[B4013] the basename {} cannot be a checkpoint's name", single_quoted(basename)));
  std::vector<std::string> found = basenames_in(run);
  if (found.empty() || std::find(found.begin(), found.end(), basename) != found.end()) return;
  for (std::string& name : found) name = single_quoted(name + "-STEP");
  fail(Code::kFailedPrecondition,
       fmt::format("[B4014] {} holds checkpoints called {}, and this run's are called {}", single_quoted(run.path()),
                   joined(found), single_quoted(basename + "-STEP")));
}

}  // namespace belay::runtime
