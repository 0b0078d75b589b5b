// SPDX-License-Identifier: Apache-2.0
// The facts about a training from its run directory, for people. They come from the event files, the checkpoints, the
// manifest of each attempt and the marks beside them. It writes nothing, takes no lock and loads no plugin. It works
// while the run trains. [any thread]
//
//   const RunRecord run = read_run(posix_file_system(), "runs/digits", log);
//   const Curve* loss = find_curve(run, "eval/loss");
//
// A killed attempt may have written events of steps that the next one made again from its checkpoint. Those are left
// out and counted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/checkpoint/stored/list_stored.h"
#include "runtime/data/schema.h"
#include "runtime/events/run_events_reader.h"
#include "runtime/manifest/show.h"
#include "runtime/platform/log/logger.h"
#include "runtime/report/curves.h"
#include "runtime/report/model_layers.h"
#include "runtime/report/pictures.h"

namespace belay::runtime {

enum class AttemptEnd { kFinished, kFailed, kStopped, kWithoutAWord, kRunning };
const char* end_text(AttemptEnd end);  // "finished"

struct AttemptRecord {
  int number = 1;
  std::int64_t from_step = 0;  // the step that it continued from; 0: it began at step 0
  std::int64_t last_step = 0;  // the last step with an event
  std::int64_t redone = 0;     // steps of it that the next one made again
  double begin = 0, end = 0;   // times of its events, in seconds since 1970
  AttemptEnd how = AttemptEnd::kWithoutAWord;
};

// A key of the manifest that an attempt changed from the attempt before.
struct ChangedKey {
  int attempt = 0;
  std::string key;      // "optimizer.learning_rate"
  std::string was, is;  // in TOML; "not set"
};

struct RunRecord {
  std::string path;
  std::vector<Curve> curves;  // by folder and tag
  std::vector<AttemptRecord> attempts;
  std::vector<std::int64_t> recoveries;  // steps from which a session continued inside of an attempt
  bool running = false;
  std::string last_words;  // the work of an attempt that ended without a message; empty: there is none
  StoredList checkpoints;
  ManifestValues manifest;       // of the last attempt
  std::optional<Schema> schema;  // the schema that the training learned; none: the run keeps none
  std::vector<ChangedKey> changes;
  std::vector<ModelLayer> layers;
  Pictures pictures;
  std::size_t redone_points = 0;
  std::vector<EventProblem> problems;
};

// NOT_FOUND: the directory does not exist, or has neither events nor checkpoints. FAILED_PRECONDITION: it is no
// directory.
RunRecord read_run(FileSystem& files, const std::string& path, Logger& log);

// Finds a curve by its metric_name; null: there is none.
const Curve* find_curve(const RunRecord& run, const std::string& name);
std::int64_t last_step(const RunRecord& run);
// Returns "finished at step 3000" or "ended without a word at step 1290".
std::string status_text(const RunRecord& run);
double seconds_of_attempts(const RunRecord& run);
// Return the checkpoint that a run continues from, and the best one; null: there is none.
const ListedStored* current_checkpoint(const RunRecord& run);
const ListedStored* best_checkpoint(const RunRecord& run);
// Returns ", 100 steps before the end" for the checkpoint that a run continues from. Empty: it is of the last step, or
// the run has not ended.
std::string unsaved_text(const RunRecord& run);
// Returns "section.key" and the value of each key.
std::vector<std::pair<std::string, std::string>> keys_of(const ManifestValues& values);

}  // namespace belay::runtime
