// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/read/find_restorable.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/checkpoint/format/names.h"
#include "runtime/checkpoint/format/state_file.h"
#include "runtime/checkpoint/read/basename.h"
#include "runtime/checkpoint/read/restore_crashes.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

// Returns the current checkpoint's name in the state file. None: there is no state file, or it is of no use, which is a
// warning.
std::optional<std::string> named_by_state_file(const OpenDirectory& run, Logger& log) {
  try {
    const std::optional<CheckpointState> state = read_checkpoint_state(run);
    if (!state) return std::nullopt;
    if (is_entry_name(state->current)) return state->current;
    log.warning("checkpoint",
                "the state file " + single_quoted(run.path() + "/checkpoint") + " names " +
                    single_quoted(state->current) +
                    ", which is no entry of this directory; it is not opened, and the directory is searched");
  } catch (const Error& e) {
    log.warning("checkpoint",
                fmt::format("the state file cannot be used, so the directory is searched: {}", e.message()));
  }
  return std::nullopt;
}

// Returns the newest first. With a checkpoint to start from, it returns that one, the older ones, and then the newer
// ones. A user who chose an older one had a reason.
std::vector<std::string> candidates(const OpenDirectory& run, const std::optional<std::string>& first,
                                    const std::string& basename) {
  std::vector<std::int64_t> steps;
  for (const std::string& entry : run.entries())
    if (const auto step = step_of_checkpoint(entry, basename)) steps.push_back(*step);
  std::sort(steps.rbegin(), steps.rend());
  std::vector<std::string> names;
  if (first) names.push_back(*first);
  const auto from = first ? step_of_checkpoint(*first, basename) : std::nullopt;
  if (from) std::stable_partition(steps.begin(), steps.end(), [&](std::int64_t step) { return step < *from; });
  for (const std::int64_t step : steps)
    if (!from || step != *from) names.push_back(checkpoint_name(step, basename));
  return names;
}

// Returns the reason to skip a checkpoint without opening it; empty: there is none.
std::string why_not_restored(const OpenDirectory& run, const std::string& name) {
  const std::uint64_t crashes = restore_crashes(run, name);
  if (crashes < kMostRestoreCrashes) return "";
  return fmt::format("{}: {} starts crashed while it was restored; to try it again, remove its file '{}'",
                     single_quoted(run.path() + "/" + name), crashes, kCrashedName);
}

}  // namespace

std::unique_ptr<CheckpointReader> open_if_whole(const OpenDirectory& run, const std::string& name, std::string& reason,
                                                CheckFiles check) {
  const std::string path = run.path() + "/" + name;
  try {
    if (!run.exists(name)) {
      reason = single_quoted(path) + ": it is missing";
    } else if (const FileKind kind = run.status(name).kind; kind != FileKind::kDirectory) {
      reason = single_quoted(path) + ": it is " + (kind == FileKind::kSymlink ? "a symbolic link" : "a file") +
               ", a checkpoint is a directory";
    } else {
      return CheckpointReader::open(run.open_directory(name), check);
    }
  } catch (const Error& e) {
    if (e.code() != Code::kDataLoss && e.code() != Code::kNotFound)
      throw RestoreError(e.code(), fmt::format("[B4034] the checkpoint to restore cannot be read: {}", e.message()));
    reason = e.message();
  }
  return nullptr;
}

std::unique_ptr<CheckpointReader> find_restorable(const OpenDirectory& run, Logger& log, std::string basename,
                                                  const std::map<std::string, std::string>& unreadable,
                                                  CheckFiles check) {
  const auto current = named_by_state_file(run, log);
  if (basename.empty()) basename = basename_in(run);
  std::vector<std::string> reasons;
  for (const std::string& name : candidates(run, current, basename)) {
    std::string reason = why_not_restored(run, name);
    const bool crashed = !reason.empty();
    if (const auto known = unreadable.find(name); known != unreadable.end()) reason = known->second;
    // After a damaged one, no other is chosen before it was checked.
    const CheckFiles now = reasons.empty() ? check : CheckFiles::kWhenOpened;
    std::unique_ptr<CheckpointReader> reader = reason.empty() ? open_if_whole(run, name, reason, now) : nullptr;
    if (reader != nullptr) {
      if (!reasons.empty()) log.warning("checkpoint", "going back to " + name);
      return reader;
    }
    log.warning("checkpoint", std::string("a checkpoint is ") + (crashed ? "passed over" : "damaged") +
                                  " and stays where it is: " + reason);
    reasons.push_back(std::move(reason));
  }
  if (reasons.empty()) return nullptr;
  throw RestoreError(Code::kDataLoss,
                     fmt::format("[B4034] {} holds checkpoints, but none can be restored:\n  {}\nnothing was deleted; "
                                 "to begin again at step 0, run with --from-scratch",
                                 single_quoted(run.path()), joined(reasons, "\n  ")));
}

bool holds_checkpoints(const OpenDirectory& run, Logger& log) {
  return !candidates(run, named_by_state_file(run, log), basename_in(run)).empty();
}

std::string newest_checkpoint(const OpenDirectory& run) {
  try {
    if (const auto state = read_checkpoint_state(run); state && parse_checkpoint_name(state->current))
      if (run.exists(state->current)) return state->current;
  } catch (const Error&) {
  }
  const std::string basename = basename_in(run);
  std::int64_t newest = -1;
  for (const std::string& entry : run.entries())
    newest = std::max(newest, step_of_checkpoint(entry, basename).value_or(-1));
  return newest < 0 ? "" : checkpoint_name(newest, basename);
}

std::string latest_checkpoint(const OpenDirectory& run, Logger& log) {
  const auto newest = find_restorable(run, log);
  return newest == nullptr ? std::string() : newest->path();
}

}  // namespace belay::runtime
