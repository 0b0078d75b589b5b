// SPDX-License-Identifier: Apache-2.0
// A run that continues from a checkpoint must be the training that wrote it, unless the user allows another one. So the
// manifest and its files are compared with those of the checkpoint, before any plugin is loaded.
//
//   ResumeCheck check(files, log, manifest, options);
//   check.look_at_files(plugins);                      // that the numbers depend on
//   check.compare(plugins, hooks, environment, problems);     // what changes the numbers is a problem; the rest a line
//   check.compare(fingerprint_of(...), problems);      // with options.exact, once the plugins are loaded
//   ... check.manifest_to_keep() goes into the run directory and into each checkpoint ...
//
// [main]
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/checkpoint/format/content.h"
#include "runtime/estimator/resume/data_files.h"
#include "runtime/estimator/resume/manifest_changes.h"
#include "runtime/loader/library/resolve.h"
#include "runtime/manifest/diagnostics.h"
#include "runtime/manifest/manifest.h"
#include "runtime/manifest/paths.h"
#include "runtime/platform/files/file_system.h"
#include "runtime/platform/log/logger.h"

namespace belay::runtime {

struct ResumeOptions {
  bool accept_changes = false;  // --resume=changed: what differs is a warning
  bool must = false;            // --resume=must: a directory without a checkpoint is a problem
  bool exact = false;           // --exact: a fingerprint that differs is a problem, and files are compared in full
};

class ResumeCheck {
 public:
  // All but the options are borrowed.
  ResumeCheck(FileSystem& files, Logger& log, const Manifest& manifest, const ResumeOptions& options)
      : files_(files), log_(log), manifest_(manifest), options_(options) {}

  // Reads the ends of each file, or with options.exact all of it.
  void look_at_files(const ResolvedPlugins& plugins);
  // Compares with the training of run.dir's newest checkpoint; without one it compares nothing. `plugins`: those of the
  // manifest; `hooks`: the declarations of those that it no longer names.
  void compare(const ResolvedPlugins& plugins, const HookInfos& hooks, const Environment& environment,
               Diagnostics& problems);
  // For an evaluation or prediction: warns of the training's files that have other bytes, if a split chooses their
  // rows.
  void warn_of_split_files(const ResolvedPlugins& plugins) const;
  // Whether the training may learn something else of its data than the earlier one. compare() found other files of
  // [input.train], or with options.exact it has none to compare.
  bool doubts_fit() const;
  // Call it after compare(). `differences`: those between the earlier training's fit of its data and this one's, each a
  // clause. `at`: the place of [input.train].
  void compare_fit(const std::vector<std::string>& differences, const Location& at, Diagnostics& problems) const;
  // Checks that the same bits can result: with options.exact each difference is a problem. `processes`: of this run.
  void compare(const Fingerprint& own, int processes, Diagnostics& problems) const;

  // Whether run.dir holds a checkpoint from which this run continues. If none can be restored, that is another error.
  bool finds_checkpoint() const { return find_earlier().has_value(); }

  // Returns the effective manifest, and a line for each of the files.
  std::string manifest_to_keep() const;

 private:
  struct Earlier {
    std::string checkpoint;  // its path
    std::string name;
    std::string manifest_path;
    std::string manifest;  // empty: it keeps none
  };
  std::optional<Earlier> find_earlier() const;
  bool fits_basename(Diagnostics& problems) const;
  void compare_manifests(const Earlier& earlier, const ResolvedPlugins& plugins, const HookInfos& hooks,
                         const Environment& environment, Diagnostics& problems) const;
  void compare_files(const Earlier& earlier, Diagnostics& problems);
  // `of_data`: it belongs to [input.train].
  void refuse(Location at, const std::string& what, bool of_data, Diagnostics& problems) const;

  FileSystem& files_;
  Logger& log_;
  const Manifest& manifest_;
  const ResumeOptions options_;
  std::vector<TrainingFile> data_;
  bool other_data_ = false;  // a file of [input.train] has other bytes, or is another file
};

}  // namespace belay::runtime
