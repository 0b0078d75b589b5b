// SPDX-License-Identifier: Apache-2.0
// The differences between the manifest of a checkpoint's training and the one that continues from it. Each may make it
// another training.
//
//   const std::vector<ManifestChange> changes = changes_between(before, now, plugins);
//   input.train.batch_size   was 128, is 16     changes the numbers: the run is refused without --resume=changed
//   checkpoint.max_to_keep   was 5, is 3        changes none: a line in the log
//
// The numbers change with the seed, the precision, the model, the optimizer and the training's input. They also change
// with each option of a hook that is not `.watching()`. An added or removed hook counts as its options do. An unwritten
// option has its default, so to write the default is no change. [any thread]
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/loader/library/resolve.h"
#include "runtime/manifest/manifest.h"

namespace belay::runtime {

struct ManifestChange {
  std::string key;  // "input.train.batch_size", "hooks.csv_logger.every_n_steps"; "hooks.csv_logger": it came or went
  std::string was;  // as TOML writes it; "not set", "not there"
  std::string is;
  bool changes_numbers = false;
  Location at;  // in the continued manifest
};

// The declaration of a hook of this name; null: there is none.
using HookInfos = std::function<const PluginInfo*(const std::string& name)>;

// `plugins`: those of `now`, for the declarations of their options. `hooks`: the declarations of hooks that only
// `before` has.
std::vector<ManifestChange> changes_between(const Manifest& before, const Manifest& now, const ResolvedPlugins& plugins,
                                            const HookInfos& hooks);

// Whether a hook's options cannot change a number. Such a hook may be added or removed.
bool only_watches(const PluginInfo& hook);

// "input.train.batch_size was 128, is 16"
std::string change_text(const ManifestChange& change);

}  // namespace belay::runtime
