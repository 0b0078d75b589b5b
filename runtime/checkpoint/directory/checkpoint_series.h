// SPDX-License-Identifier: Apache-2.0
// The checkpoints of one run directory, for the run that writes them. It saves, keeps the state file, and removes
// checkpoints above max_to_keep that are neither pinned nor among the best. keep_every_steps and keep_every_hours pin
// checkpoints. By the mark in the checkpoint they stay for good, whatever happens to the list.
//
//   CheckpointSeries series(files, run, clock, log, settings);
//   series.recover();                        // the list of earlier attempts
//   series.restored(reader->name(), reader->state().best);
//   content.best = series.best_with(step, value);
//   const std::string path = series.save(content, saver);
//   ... after_save of every hook ...
//   series.retain();
//
// There is one object per run, under the run's lock. Use it from one thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "belay/runtime/checkpoint_settings.h"
#include "runtime/checkpoint/format/names.h"
#include "runtime/checkpoint/format/state_file.h"
#include "runtime/checkpoint/read/best_checkpoints.h"
#include "runtime/checkpoint/write/checkpoint_writer.h"
#include "runtime/platform/files/file_system.h"
#include "runtime/platform/log/logger.h"
#include "runtime/platform/threads/clock.h"

namespace belay::runtime {

// The first checkpoint of a series is read back through its saver before it counts. So is every further one after this
// number of saves, and the one after a save that failed by it. So a saver that writes something else is found while the
// variables exist, and not when they are restored.
inline constexpr int kSavesPerReadBack = 16;

class CheckpointSeries {
 public:
  // All arguments must outlive the object.
  CheckpointSeries(FileSystem& files, OpenDirectory& run, Clock& clock, Logger& log,
                   const CheckpointSettings& settings);

  // Continues the state file's list with its existing checkpoints, and with those that are newer than its current one.
  // In that case a save was killed before it wrote the state file, or a user chose an older one. A missing or broken
  // state file is an empty list. The series does not remove such a directory's checkpoints.
  void recover();
  // That checkpoint was verified and restored. It is the newest one that is known to be whole until the next save, and
  // belongs to the list. The best checkpoints are from now on those of its state. Missing ones are a warning, and those
  // of another metric begin again.
  void restored(const std::string& name, const BestList& best = {});

  // Writes a checkpoint, then the list of the best, which is content.best from now on, then the state file. Returns the
  // checkpoint's path. A step that was saved before is replaced and becomes the newest. Errors are those of
  // write_checkpoint. If space is short, they have the bytes needed and free. If that shows before, nothing is written.
  // A failed save changes neither the list, nor the state file, nor any older checkpoint. But a whole checkpoint stays
  // if only the state file could not be written.
  std::string save(const CheckpointContent& content, const SaverUse& saver);

  // Returns the best checkpoints after that step is saved, with the value of its evaluation. None: it was not
  // evaluated, so an older checkpoint of this step is not among the best any more.
  BestList best_with(std::int64_t step, std::optional<double> value) const;
  const BestList& best() const noexcept { return best_; }

  // Removes all but the newest max_to_keep, the best and the pinned, and rewrites the state file. One that is due by
  // keep_every_hours is pinned instead. It touches only names of the list. It keeps the newest verified one,
  // those `in_use`, and one with a file that is no part of it. It does nothing while none is known to be whole. It
  // never throws. A checkpoint that cannot be removed stays, and is listed for the next time, with one warning.
  void retain(const std::vector<std::string>& in_use = {}) noexcept;

  // Returns names in the run directory, oldest first.
  std::vector<std::string> names() const;
  // True if the state file names that one as the newest.
  bool is_current(const std::string& name) const noexcept { return name == current_; }

 private:
  std::string name_of(std::int64_t step) const { return checkpoint_name(step, settings_.basename); }
  std::optional<std::int64_t> step_in(const std::string& name) const {
    return step_of_checkpoint(name, settings_.basename);
  }
  bool is_listed(const std::string& name) const;
  void list(const std::string& name);
  void list_by_step(const std::string& name, std::int64_t step);
  void list_newer_than(const std::string& current);
  bool stays(const CheckpointState::Kept& kept);
  bool try_remove(const std::string& name);
  double now() const { return static_cast<double>(clock_.wall_ns()) * 1e-9; }
  void take_up_last_preserved(double stored);
  void check_room(const CheckpointContent& content) const;
  void write_state_file();
  void write_best_file();
  void tell_best();
  void adopt_best(const BestList& stored);
  bool is_best(const std::string& name) const;

  FileSystem& files_;
  OpenDirectory& run_;
  Clock& clock_;
  Logger& log_;
  CheckpointSettings settings_;
  const BestRule rule_;
  std::vector<CheckpointState::Kept> kept_;  // `path` is the name
  std::string newest_verified_;
  std::string current_;  // the state file's; empty: there is none
  BestList best_;
  std::int64_t last_step_ = 0;   // of the checkpoint that was saved or restored last
  double last_preserved_ = 0;    // CheckpointState::last_preserved, or the start of the run
  bool removal_failed_ = false;  // and it was reported
  int failures_ = 0;             // failed saves since the last successful one
  int until_read_back_ = 0;      // saves
};

}  // namespace belay::runtime
