// SPDX-License-Identifier: Apache-2.0
// The names inside a run directory and a checkpoint. [any thread]
//
//   checkpoint                             state file: which checkpoint is current
//   best                                   the best checkpoints, where the run keeps them
//   model.ckpt-2000                        a checkpoint; "model.ckpt" is [checkpoint] basename
//   model.ckpt-2000.tmp-5f0c...            one that is being written, or being deleted
//   model.ckpt-2000.old-5f0c...            one whose successor of the same step is being put in its place
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace belay::runtime {

inline constexpr std::string_view kStateFileName = "checkpoint";
inline constexpr std::string_view kUnfinishedStateFileName = "checkpoint.tmp";  // OpenDirectory::replace names it
inline constexpr std::string_view kBestName = "best";
inline constexpr std::string_view kUnfinishedBestName = "best.tmp";
inline constexpr std::string_view kLockName = "lock";
inline constexpr std::string_view kAttemptName = "attempt";         // the mark of the attempt that runs
inline constexpr std::string_view kAttemptsName = "attempts";       // how many there were, with the one that runs
inline constexpr std::string_view kFinishedName = "finished";       // at which step the training came to its end
inline constexpr std::string_view kIndexName = "index";             // inside a checkpoint
inline constexpr std::string_view kStateName = "state";             // inside a checkpoint
inline constexpr std::string_view kManifestName = "manifest.toml";  // inside a checkpoint, and beside them
inline constexpr std::string_view kSchemaName = "schema.json";      // inside a checkpoint, and beside them
inline constexpr std::string_view kStateDataName = "state.data";    // inside a checkpoint, where a hook keeps tensors
inline constexpr std::string_view kPinnedName = "pinned";           // inside a checkpoint that retention leaves alone
inline constexpr std::string_view kCrashedName = "crashed";         // inside one whose restore crashed the process

inline constexpr std::string_view kDefaultBasename = "model.ckpt";

// Of `checkpoint` and `best`: a longer one is not read.
inline constexpr std::uint64_t kMaxListBytes = std::uint64_t{16} << 20;

// `step` is not negative.
std::string checkpoint_name(std::int64_t step, std::string_view basename = kDefaultBasename);
// None where it is no checkpoint's name, as checkpoint_name spells it.
std::optional<std::int64_t> step_of_checkpoint(std::string_view name,
                                               std::string_view basename = kDefaultBasename) noexcept;

// What may be a checkpoint's name, of any run.
struct CheckpointName {
  std::string basename;
  std::int64_t step = 0;
};
std::optional<CheckpointName> parse_checkpoint_name(std::string_view name);

// Whether the host writes the file of that name into a checkpoint, so no saver may.
constexpr bool is_hosts_file(std::string_view name) noexcept {
  return name == kIndexName || name == kStateName || name == kStateDataName || name == kManifestName ||
         name == kSchemaName || name == kPinnedName || name == kCrashedName;
}

// With random digits, so that what a killed run left is never in the way.
std::string temporary_name(std::string_view checkpoint);
std::string replaced_name(std::string_view checkpoint);
// For what is made beside `name` and renamed to it: ".name.tmp-5f0c...".
std::string hidden_name(std::string_view name);
bool is_hidden_name_of(std::string_view hidden, std::string_view name);
// The checkpoint that a temporary or replaced one belongs to; none where `name` is no such name.
std::optional<std::string> checkpoint_of_temporary(std::string_view name);
std::optional<std::string> checkpoint_of_replaced(std::string_view name);

// Whether `name` can name an entry of a directory and nothing outside it: one part of a path, no control character, at
// most 255 bytes.
bool is_entry_name(std::string_view name) noexcept;

}  // namespace belay::runtime
