// SPDX-License-Identifier: Apache-2.0
// The next start of a run on a directory that a fault has been through, as far as checkpoints go: clean up, restore,
// check every bit, save the next step and remove what is more than two.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/checkpoint/directory/checkpoint_series.h"
#include "runtime/checkpoint/directory/leftovers.h"
#include "runtime/checkpoint/format/names.h"
#include "runtime/checkpoint/read/find_restorable.h"
#include "tests/checkpoint/checkpoint_fixture.h"

namespace belay::runtime {

struct NextStart {
  std::int64_t step = -1;  // that it restored; -1: none
  std::string wrong = {};  // empty: nothing is
};

// Lists the entries of the run directory that are neither a checkpoint nor one of the run's own files.
inline std::string litter(const OpenDirectory& run) {
  std::string found;
  for (const std::string& name : run.entries())
    if (name != kStateFileName && name != kBestName && name != kLockName && !step_of_checkpoint(name))
      found += name + " ";
  return found;
}

inline NextStart next_start(FileSystem& files, const std::string& directory, const SaverUse& saver, FakeClock& clock) {
  NextStart start;
  try {
    RecordingLogger log;
    const auto run = files.open_directory(directory);
    remove_leftovers(*run, log);
    if (const std::string found = litter(*run); !found.empty()) start.wrong += "litter: " + found;
    CheckpointSeries series(files, *run, clock, log, {.max_to_keep = 2});
    series.recover();
    const auto reader = find_restorable(*run, log);
    if (reader == nullptr) return {-1, start.wrong + "there is nothing to restore"};
    start.step = reader->state().global_step;
    start.wrong += StepContent(start.step).difference(*reader, saver);
    series.restored(reader->name());
    const StepContent next(start.step + 1);
    series.save(next.content(), saver);
    series.retain();
    const auto saved = find_restorable(*run, log);
    start.wrong += next.difference(*saved, saver);
    if (const std::string found = litter(*run); !found.empty()) start.wrong += "litter of the next save: " + found;
  } catch (const Error& e) {
    start.wrong += e.what();
  }
  return start;
}

}  // namespace belay::runtime
