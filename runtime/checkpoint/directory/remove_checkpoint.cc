// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/directory/remove_checkpoint.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "belay/error.h"
#include "runtime/checkpoint/format/index.h"
#include "runtime/checkpoint/format/names.h"
#include "runtime/checkpoint/format/state_file.h"
#include "runtime/checkpoint/read/best_checkpoints.h"
#include "runtime/checkpoint/read/find_restorable.h"
#include "runtime/checkpoint/write/pinned.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {

bool is_complete(const OpenDirectory& run, const std::string& name, std::int64_t step) {
  try {
    if (run.status(name).kind != FileKind::kDirectory) return false;
    const std::unique_ptr<OpenDirectory> checkpoint = run.open_directory(name);
    const CheckpointIndex index = parse_index(checkpoint->read(kIndexName, kMaxIndexBytes));
    return index.global_step == step && std::all_of(index.files.begin(), index.files.end(), [&](const FileEntry& f) {
             return checkpoint->exists(f.name) && checkpoint->status(f.name).size == f.length;
           });
  } catch (const Error&) {
    return false;
  }
}

std::string foreign_entry(const OpenDirectory& checkpoint) {
  const CheckpointIndex index = parse_index(checkpoint.read(kIndexName, kMaxIndexBytes));
  for (const std::string& entry : checkpoint.entries()) {
    const bool known =
        entry == kIndexName || entry == kPinnedName || entry == kCrashedName ||
        std::any_of(index.files.begin(), index.files.end(), [&](const FileEntry& f) { return f.name == entry; });
    if (!known) return entry;
  }
  return "";
}

void remove_checkpoint(OpenDirectory& run, const std::string& name) {
  const std::string doomed = temporary_name(name);
  run.rename(name, doomed);
  try {
    run.remove_tree(doomed);
  } catch (const Error&) {
    if (is_complete(run, doomed, parse_checkpoint_name(name).value().step)) run.rename(doomed, name);
    throw;
  }
}

namespace {

// Returns the newest whole checkpoint but that one; empty: there is none.
std::string newest_other(const OpenDirectory& run, const std::string& name) {
  const std::string basename = parse_checkpoint_name(name).value().basename;
  std::vector<std::int64_t> steps;
  for (const std::string& entry : run.entries())
    if (const auto step = step_of_checkpoint(entry, basename); step && entry != name) steps.push_back(*step);
  std::sort(steps.rbegin(), steps.rend());
  for (const std::int64_t step : steps) {
    std::string reason;
    std::string other = checkpoint_name(step, basename);
    if (open_if_whole(run, other, reason) != nullptr) return other;
  }
  return "";
}

// An unreadable file is no reason to keep a checkpoint. The run writes it again.
template <class F>
auto if_readable(Logger& log, F&& read) -> decltype(read()) {
  try {
    return read();
  } catch (const Error& e) {
    log.warning("checkpoint", e.what());
    return std::nullopt;
  }
}

bool is_among(const std::optional<BestList>& best, const std::string& name) {
  const CheckpointName parsed = parse_checkpoint_name(name).value();
  return best && best->basename == parsed.basename && find_step(*best, parsed.step) != nullptr;
}

void write_state_without(OpenDirectory& run, const std::string& name, CheckpointState state) {
  std::erase_if(state.kept, [&](const CheckpointState::Kept& k) { return k.path == name; });
  if (state.current == name) state.current = newest_other(run, name);
  if (state.current.empty()) {
    run.remove(kStateFileName);
    run.sync();  // else it may reappear after a loss of power, and name a removed checkpoint
  } else {
    run.replace(kStateFileName, format_checkpoint_state(state));
  }
}

}  // namespace

std::string why_needed(const OpenDirectory& run, const std::string& name, Logger& log) {
  if (is_pinned(run, name)) return "it is pinned";
  std::string reason;
  if (open_if_whole(run, name, reason) == nullptr) return "";
  const auto best = if_readable(log, [&] { return read_best_list(run); });
  if (is_among(best, name)) return "it is one of the best by " + escaped(best->metric);
  if (newest_other(run, name).empty()) return "it is the only one of the run that can be restored";
  const std::string foreign = foreign_entry(*run.open_directory(name));
  return foreign.empty() ? "" : "it holds " + single_quoted(foreign) + ", which is no part of it";
}

void remove_and_forget(OpenDirectory& run, const std::string& name, Logger& log) {
  remove_checkpoint(run, name);
  run.sync();
  const auto best = if_readable(log, [&] { return read_best_list(run); });
  if (is_among(best, name))
    run.replace(kBestName, format_best_list(without_step(*best, parse_checkpoint_name(name).value().step)) + "\n");
  if (auto state = if_readable(log, [&] { return read_checkpoint_state(run); }))
    write_state_without(run, name, std::move(*state));
}

}  // namespace belay::runtime
