// SPDX-License-Identifier: Apache-2.0
// The names inside a run directory and a checkpoint. [any thread]
//
//   checkpoint                             state file: names the current checkpoint
//   best                                   the best checkpoints, if the run keeps them
//   model.ckpt-2000                        a checkpoint; "model.ckpt" is [checkpoint] basename
//   model.ckpt-2000.tmp-5f0c...            one that is being written, or being deleted
//   model.ckpt-2000.old-5f0c...            one that another one of the same step is replacing
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace belay::runtime {

inline constexpr std::string_view kStateFileName = "checkpoint";
inline constexpr std::string_view kUnfinishedStateFileName = "checkpoint.tmp";  // from OpenDirectory::replace
inline constexpr std::string_view kBestName = "best";
inline constexpr std::string_view kUnfinishedBestName = "best.tmp";
inline constexpr std::string_view kLockName = "lock";
inline constexpr std::string_view kAttemptName = "attempt";         // the mark of the current attempt
inline constexpr std::string_view kAttemptsName = "attempts";       // the number of attempts, including the current one
inline constexpr std::string_view kFinishedName = "finished";       // the step at which the training came to its end
inline constexpr std::string_view kIndexName = "index";             // inside a checkpoint
inline constexpr std::string_view kStateName = "state";             // inside a checkpoint
inline constexpr std::string_view kManifestName = "manifest.toml";  // inside a checkpoint, and beside them
inline constexpr std::string_view kSchemaName = "schema.json";      // inside a checkpoint, and beside them
inline constexpr std::string_view kStateDataName = "state.data";    // inside a checkpoint, if a hook keeps tensors
inline constexpr std::string_view kPinnedName = "pinned";    // inside a checkpoint that retention does not remove
inline constexpr std::string_view kCrashedName = "crashed";  // inside a checkpoint whose restore crashed the process

inline constexpr std::string_view kDefaultBasename = "model.ckpt";

// Limit of `checkpoint` and `best`: a longer one is not read.
inline constexpr std::uint64_t kMaxListBytes = std::uint64_t{16} << 20;

// `step` is not negative.
std::string checkpoint_name(std::int64_t step, std::string_view basename = kDefaultBasename);
// Returns none if it is no checkpoint's name in the spelling of checkpoint_name.
std::optional<std::int64_t> step_of_checkpoint(std::string_view name,
                                               std::string_view basename = kDefaultBasename) noexcept;

// A possible name of a checkpoint, of any run.
struct CheckpointName {
  std::string basename;
  std::int64_t step = 0;
};
std::optional<CheckpointName> parse_checkpoint_name(std::string_view name);

// True if the host writes the file of that name into a checkpoint. So no saver may write it.
constexpr bool is_hosts_file(std::string_view name) noexcept {
  return name == kIndexName || name == kStateName || name == kStateDataName || name == kManifestName ||
         name == kSchemaName || name == kPinnedName || name == kCrashedName;
}

// It has random digits, so that leftovers of a killed run never conflict.
std::string temporary_name(std::string_view checkpoint);
std::string replaced_name(std::string_view checkpoint);
// The name of an entry that is made beside `name` and then renamed to it: ".name.tmp-5f0c...".
std::string hidden_name(std::string_view name);
bool is_hidden_name_of(std::string_view hidden, std::string_view name);
// Returns the checkpoint of a temporary or replaced name; none: `name` is no such name.
std::optional<std::string> checkpoint_of_temporary(std::string_view name);
std::optional<std::string> checkpoint_of_replaced(std::string_view name);

// True if `name` can name an entry of a directory and nothing outside it: one part of a path, no control character, at
// most 255 bytes.
bool is_entry_name(std::string_view name) noexcept;

}  // namespace belay::runtime
