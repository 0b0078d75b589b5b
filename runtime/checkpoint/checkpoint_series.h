// SPDX-License-Identifier: Apache-2.0
// The checkpoints of one run directory, as the run that writes them sees them: saves, keeps the state file, and removes
// what is more than max_to_keep and neither pinned nor among the best. What keep_every_steps and keep_every_hours keep
// is pinned: by the mark in the checkpoint it stays for good, whatever becomes of the list.
//
//   CheckpointSeries series(files, run, clock, log, settings);
//   series.recover();                        // the list of earlier attempts
//   series.restored(reader->name(), reader->state().best);
//   content.best = series.best_with(step, value);
//   const std::string path = series.save(content, saver);
//   ... after_save of every hook ...
//   series.retain();
//
// One object per run, under the run's lock; one thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "belay/runtime/checkpoint_settings.h"
#include "runtime/checkpoint/best_checkpoints.h"
#include "runtime/checkpoint/checkpoint_writer.h"
#include "runtime/checkpoint/names.h"
#include "runtime/checkpoint/state_file.h"
#include "runtime/platform/clock.h"
#include "runtime/platform/file_system.h"
#include "runtime/platform/logger.h"

namespace belay::runtime {

// The first checkpoint that a series writes is read back through its saver before it counts, and every so many saves
// another one; so is the one after a save that failed by it. A saver that writes something else is found while the
// variables are there, and not when they are to be restored.
inline constexpr int kSavesPerReadBack = 16;

class CheckpointSeries {
 public:
  // All arguments must outlive the object.
  CheckpointSeries(FileSystem& files, OpenDirectory& run, Clock& clock, Logger& log,
                   const CheckpointSettings& settings);

  // Continues the state file's list with what of it still exists, and with the checkpoints that are newer than its
  // current one: a save was killed before it wrote the state file, or somebody went back by hand. A missing or broken
  // state file has an empty list: what then lies in the directory is not the series' to remove.
  void recover();
  // That checkpoint was verified and restored: it is the newest that is known to be whole until the next save, and
  // belongs to the list. The best checkpoints are from now on those of its state: what is missing of them is a warning,
  // and those of another metric begin anew.
  void restored(const std::string& name, const BestList& best = {});

  // Writes a checkpoint, then the list of the best, which is content.best from now on, then the state file; returns the
  // checkpoint's path. A step that was saved before is replaced and becomes the newest. Throws as write_checkpoint
  // does; where space is short, with the bytes needed and free, and where that shows before, without writing. A failed
  // save leaves the list, the state file and every older checkpoint as they were, save that a checkpoint which is whole
  // stays where only the state file could not be written.
  std::string save(const CheckpointContent& content, const SaverUse& saver);

  // The best checkpoints as they are once that step is saved, with the value of its evaluation; none: what is saved was
  // not evaluated, so a checkpoint of this step that was among the best no longer is.
  BestList best_with(std::int64_t step, std::optional<double> value) const;
  const BestList& best() const noexcept { return best_; }

  // Removes all but the newest max_to_keep, the best and the pinned, and rewrites the state file. One that is due by
  // keep_every_hours is pinned instead. Touches only names of the list, and of those neither the newest verified one
  // nor those `in_use`, nor one that holds a file which is no part of it. Does nothing while none is known to be whole.
  // Never throws: what cannot be removed stays where it is and listed for the next time, with one warning.
  void retain(const std::vector<std::string>& in_use = {}) noexcept;

  // Names in the run directory, oldest first.
  std::vector<std::string> names() const;
  // Whether the state file names that one as the newest.
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
  std::string current_;  // as the state file has it; empty: there is none
  BestList best_;
  std::int64_t last_step_ = 0;   // of the checkpoint that was saved or restored last
  double last_preserved_ = 0;    // CheckpointState::last_preserved, or when the run began
  bool removal_failed_ = false;  // and was said
  int failures_ = 0;             // of saves, since the last that did not fail
  int until_read_back_ = 0;      // saves
};

}  // namespace belay::runtime
