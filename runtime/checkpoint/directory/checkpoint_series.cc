// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/directory/checkpoint_series.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>

#include "runtime/checkpoint/directory/remove_checkpoint.h"
#include "runtime/checkpoint/format/index.h"
#include "runtime/checkpoint/format/names.h"
#include "runtime/checkpoint/format/state_data.h"
#include "runtime/checkpoint/format/tensor_bytes.h"
#include "runtime/checkpoint/write/pinned.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

// Counts the two files that may be large.
std::uint64_t bytes_of(const CheckpointContent& content) {
  std::uint64_t bytes = tensor_bytes(content);
  for (const NamedTensor& v : content.variables) bytes += TensorView(v.tensor).bytes();
  return bytes;
}

// Takes a checkpoint that may have any name, or be gone.
std::optional<std::int64_t> step_of(const OpenDirectory& run, const std::string& name, const std::string& basename) {
  if (const auto step = step_of_checkpoint(name, basename)) return step;
  try {
    return parse_index(run.open_directory(name)->read(kIndexName, kMaxIndexBytes)).global_step;
  } catch (const Error&) {
    return std::nullopt;
  }
}

// Returns the fix for such a failed save. A saver may have its own DATA_LOSS, without an error of the system.
const char* advice(const Error& e) {
  switch (e.code()) {
    case Code::kDataLoss:
      if (e.message().find(std::generic_category().message(EIO)) == std::string_view::npos) return "";
      return "; the disk does not work, or its connection: look at the kernel's messages (dmesg)";
    case Code::kPermissionDenied:
      return "; look at who may write into the run directory, and whether its file system is mounted for reading only";
    default: return "";
  }
}

}  // namespace

CheckpointSeries::CheckpointSeries(FileSystem& files, OpenDirectory& run, Clock& clock, Logger& log,
                                   const CheckpointSettings& settings)
    : files_(files), run_(run), clock_(clock), log_(log), settings_(settings), rule_(best_rule(settings)) {
  last_preserved_ = now();
  if (rule_.keep > 0) best_ = {rule_.metric, rule_.better, {}, settings_.basename};
}

bool CheckpointSeries::is_listed(const std::string& name) const {
  return std::any_of(kept_.begin(), kept_.end(), [&](const CheckpointState::Kept& k) { return k.path == name; });
}

void CheckpointSeries::recover() {
  kept_.clear();
  current_.clear();
  best_.checkpoints.clear();
  if ((rule_.keep > 0) != run_.exists(kBestName)) tell_best();
  std::optional<CheckpointState> state;
  try {
    state = read_checkpoint_state(run_);
  } catch (const Error&) {
    return;  // find_restorable reports it
  }
  if (!state) return;
  current_ = state->current;
  take_up_last_preserved(state->last_preserved);
  for (const CheckpointState::Kept& kept : state->kept) {
    if (!step_in(kept.path) || is_listed(kept.path)) continue;
    if (run_.exists(kept.path)) {
      kept_.push_back(kept);
    } else {
      log_.log(LogLevel::kDebug, "checkpoint", kept.path + " is in the state file but no longer there");
    }
  }
  list_newer_than(state->current);
}

// A run that began without keep_every_hours has no such time, so the first one to be removed stays. After the clock was
// set back, it must not wait until that time comes again.
void CheckpointSeries::take_up_last_preserved(double stored) {
  if (settings_.keep_every_hours <= 0) return;
  if (stored > last_preserved_)
    log_.warning(
        "checkpoint",
        "the clock was set back to before the last checkpoint that keep_every_hours kept: it counts from now on");
  last_preserved_ = std::min(stored, last_preserved_);
}

void CheckpointSeries::list_newer_than(const std::string& current) {
  const std::optional<std::int64_t> from = step_of(run_, current, settings_.basename);
  if (!from) return;
  std::vector<std::int64_t> newer;
  for (const std::string& entry : run_.entries()) {
    const std::optional<std::int64_t> step = step_in(entry);
    if (step && *step > *from && !is_listed(entry) && is_complete(run_, entry, *step)) newer.push_back(*step);
  }
  std::sort(newer.begin(), newer.end());
  for (const std::int64_t step : newer) {
    list(name_of(step));
    log_.info("checkpoint", name_of(step) + " is newer than " + current +
                                ", which the state file names: it stays, is not current, and is replaced when its "
                                "step is saved again");
  }
}

void CheckpointSeries::list(const std::string& name) {
  kept_.push_back({name, static_cast<double>(run_.status(name).modified_ns) * 1e-9});
}

void CheckpointSeries::restored(const std::string& name, const BestList& best) {
  newest_verified_ = name;
  last_step_ = step_of(run_, name, settings_.basename).value_or(0);
  if (step_in(name) && !is_listed(name)) list(name);
  if (rule_.keep > 0) adopt_best(best);
}

void CheckpointSeries::adopt_best(const BestList& stored) {
  best_.checkpoints.clear();
  const bool same = stored.metric == best_.metric && stored.better == best_.better;
  if (!same && !stored.checkpoints.empty())
    log_.warning("checkpoint", "the best checkpoints so far are those by " + escaped(stored.metric) + "; the list by " +
                                   escaped(best_.metric) + " begins anew");
  for (const BestCheckpoint& c : same ? stored.checkpoints : std::vector<BestCheckpoint>()) {
    const std::string name = name_of(c.step);
    if (!run_.exists(name)) {
      log_.warning("checkpoint", name + " is among the best checkpoints but no longer there");
      continue;
    }
    if (best_.checkpoints.size() < static_cast<std::size_t>(rule_.keep)) best_.checkpoints.push_back(c);
    if (!is_listed(name)) list_by_step(name, c.step);
  }
  tell_best();
}

// The next save writes it again, so a run also starts on a full disk. A run that keeps none has no list, since
// retention may remove the checkpoints of an older one.
void CheckpointSeries::tell_best() {
  try {
    if (rule_.keep > 0) {
      write_best_file();
    } else {
      run_.remove(kBestName);
    }
  } catch (const Error& e) {
    log_.warning("checkpoint", e.what());
  }
}

// Keeps the list's order, oldest first.
void CheckpointSeries::list_by_step(const std::string& name, std::int64_t step) {
  list(name);
  const auto later = std::find_if(kept_.begin(), kept_.end() - 1,
                                  [&](const CheckpointState::Kept& k) { return step_in(k.path).value_or(-1) > step; });
  std::rotate(later, kept_.end() - 1, kept_.end());
}

BestList CheckpointSeries::best_with(std::int64_t step, std::optional<double> value) const {
  return value ? with_checkpoint(best_, {step, *value}, rule_) : without_step(best_, step);
}

bool CheckpointSeries::is_best(const std::string& name) const {
  const auto step = step_in(name);
  return step && find_step(best_, *step) != nullptr;
}

// A checkpoint that does not fit would only fill the disk for others. 0: the file system does not know it.
void CheckpointSeries::check_room(const CheckpointContent& content) const {
  std::uint64_t room = 0;
  try {
    room = files_.free_bytes(run_.path());
  } catch (const Error&) {
    return;
  }
  if (room != 0 && room < bytes_of(content))
    fail(Code::kResourceExhausted, fmt::format("[B4001] cannot save {}: the disk has no room for it",
                                               single_quoted(run_.path() + "/" + name_of(content.global_step))));
}

std::string CheckpointSeries::save(const CheckpointContent& content, const SaverUse& saver) {
  try {
    check_room(content);
    const std::int64_t every = settings_.keep_every_steps;
    const bool pinned = every > 0 && content.global_step / every > last_step_ / every;
    const HowToWrite how{.pinned = pinned, .read_back = until_read_back_ == 0};
    const std::string name = write_checkpoint(run_, content, saver, log_, settings_, how);
    until_read_back_ = (how.read_back ? kSavesPerReadBack : until_read_back_) - 1;
    std::erase_if(kept_, [&](const CheckpointState::Kept& k) { return k.path == name; });
    kept_.push_back({name, now()});
    newest_verified_ = name;
    last_step_ = content.global_step;
    if (rule_.keep > 0) {
      best_.checkpoints = content.best.checkpoints;
      write_best_file();
    }
    write_state_file();
    if (failures_ != 0)
      log_.info("checkpoint",
                fmt::format("saved {} after {}{}", name, failures_, failures_ == 1 ? " failed save" : " failed saves"));
    failures_ = 0;
    return run_.path() + "/" + name;
  } catch (const Error& e) {
    ++failures_;
    if (e.code() != Code::kResourceExhausted) fail(e.code(), std::string(e.message()) + advice(e));
    std::string room;
    try {
      room = std::to_string(files_.free_bytes(run_.path()));
    } catch (const Error&) {
      room = "an unknown number";
    }
    fail(e.code(), fmt::format("{} (the variables {}need {} bytes, {} are free)", e.message(),
                               has_tensors(content) ? "and the hooks' tensors " : "", bytes_of(content), room));
  }
}

void CheckpointSeries::retain(const std::vector<std::string>& in_use) noexcept {
  try {
    const auto most = static_cast<std::size_t>(settings_.max_to_keep);
    if (most == 0 || kept_.size() <= most || newest_verified_.empty()) return;
    // It looks only at the oldest. If one of them must stay, no newer one is removed in its place.
    const std::size_t excess = kept_.size() - most;
    const double preserved = last_preserved_;
    std::vector<CheckpointState::Kept> left;
    for (std::size_t i = 0; i < kept_.size(); ++i) {
      const std::string& name = kept_[i].path;
      const bool needed =
          name == newest_verified_ || is_best(name) || std::find(in_use.begin(), in_use.end(), name) != in_use.end();
      if (i >= excess || needed || stays(kept_[i]) || !try_remove(name)) left.push_back(kept_[i]);
    }
    removal_failed_ = removal_failed_ && left.size() > most;
    if (left.size() == kept_.size() && last_preserved_ == preserved) return;
    kept_ = std::move(left);
    write_state_file();
  } catch (const std::exception& e) {
    log_.warning("checkpoint", std::string("older checkpoints stay for now: ") + e.what());
  }
}

// True if it is pinned, or if it is due by keep_every_hours, which pins it now. If a user pinned one at that time, that
// is the hour's. So is one whose process was killed before the state file had it. A clock that was set back leaves
// times in the future.
bool CheckpointSeries::stays(const CheckpointState::Kept& kept) {
  const bool pinned = is_pinned(run_, kept.path);
  const double saved_at = pinned ? kept.saved_at : std::min(kept.saved_at, now());
  const bool due = settings_.keep_every_hours > 0 && saved_at <= now() &&
                   saved_at - settings_.keep_every_hours * 3600 >= last_preserved_;
  if (!due || (!pinned && !run_.exists(kept.path))) return pinned;
  if (!pinned) {
    pin(*run_.open_directory(kept.path));
    log_.info("checkpoint", kept.path + " is pinned: it stays (keep_every_hours)");
  }
  last_preserved_ = saved_at;
  return true;
}

// Returns true if the name is off the list. A checkpoint with foreign or unknown files stays, and is off the list,
// too. Otherwise each save would try again.
bool CheckpointSeries::try_remove(const std::string& name) {
  try {
    if (!run_.exists(name)) {
      log_.log(LogLevel::kDebug, "checkpoint", name + " was to be removed, but is no longer there");
      return true;
    }
    std::string reason;
    try {
      const std::string foreign = foreign_entry(*run_.open_directory(name));
      if (!foreign.empty()) reason = "it holds " + single_quoted(foreign) + ", which is no part of it";
    } catch (const Error& e) {
      reason = e.message();
    }
    if (!reason.empty()) {
      log_.warning("checkpoint", name + " is kept and no longer counted: " + reason);
      return true;
    }
    remove_checkpoint(run_, name);
    return true;
  } catch (const Error& e) {
    // It warns once, since it tries again after each save, and the reason for one mostly holds for all.
    log_.log(removal_failed_ ? LogLevel::kDebug : LogLevel::kWarning, "checkpoint",
             "cannot remove the old checkpoint " + name + ": " + std::string(e.message()) +
                 "; it stays, and is tried again after each save");
    removal_failed_ = true;
    return false;
  }
}

void CheckpointSeries::write_state_file() {
  try {
    run_.replace(kStateFileName, format_checkpoint_state(
                                     {newest_verified_, kept_, settings_.keep_every_hours > 0 ? last_preserved_ : 0}));
    current_ = newest_verified_;
  } catch (const Error& e) {
    fail(e.code(),
         fmt::format("[B4002] cannot write the state file of {}: {}", single_quoted(run_.path()), e.message()));
  }
}

void CheckpointSeries::write_best_file() {
  try {
    run_.replace(kBestName, format_best_list(best_) + "\n");
  } catch (const Error& e) {
    fail(e.code(), fmt::format("[B4002] cannot write the list of the best checkpoints of {}: {}",
                               single_quoted(run_.path()), e.message()));
  }
}

std::vector<std::string> CheckpointSeries::names() const {
  std::vector<std::string> names;
  for (const CheckpointState::Kept& k : kept_) names.push_back(k.path);
  return names;
}

}  // namespace belay::runtime
