// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/directory/sibling_run.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "belay/error.h"
#include "belay/nearest.h"
#include "runtime/checkpoint/format/index.h"
#include "runtime/checkpoint/format/names.h"
#include "runtime/checkpoint/read/basename.h"

namespace belay::runtime {
namespace {

constexpr std::size_t kMostSiblings = 100;

// Sorts the nearest first.
std::vector<std::string> siblings(const OpenDirectory& parent, const std::string& name) {
  std::vector<std::pair<std::size_t, std::string>> by_distance;
  for (std::string& entry : parent.entries())
    if (entry != name) by_distance.emplace_back(edit_distance(name, entry), std::move(entry));
  std::sort(by_distance.begin(), by_distance.end());
  std::vector<std::string> names;
  for (auto& [distance, entry] : by_distance) names.push_back(std::move(entry));
  return names;
}

std::optional<std::int64_t> newest_step_of(const OpenDirectory& run, const std::string& graph_hash) {
  const std::string basename = basename_in(run);
  std::optional<std::int64_t> newest;
  for (const std::string& entry : run.entries())
    if (const auto step = step_of_checkpoint(entry, basename); step && (!newest || *step > *newest)) newest = step;
  if (!newest) return std::nullopt;
  const auto checkpoint = run.open_directory(checkpoint_name(*newest, basename));
  return parse_index(checkpoint->read(kIndexName, kMaxIndexBytes)).graph_hash == graph_hash ? newest : std::nullopt;
}

}  // namespace

std::optional<SiblingRun> find_sibling_run(FileSystem& files, const std::string& run_path,
                                           const std::string& graph_hash) {
  const std::size_t slash = run_path.rfind('/');
  if (slash == std::string::npos) return std::nullopt;
  std::size_t looked_at = 0;
  try {
    const auto parent = files.open_directory(slash == 0 ? "/" : run_path.substr(0, slash));
    for (const std::string& name : siblings(*parent, run_path.substr(slash + 1))) {
      if (parent->status(name).kind != FileKind::kDirectory) continue;
      if (++looked_at > kMostSiblings) break;
      try {
        const auto step = newest_step_of(*parent->open_directory(name), graph_hash);
        if (step) return SiblingRun{run_path.substr(0, slash + 1) + name, *step};
      } catch (const Error&) {
        // It is a foreign directory, or a checkpoint that is being written or is damaged.
      }
    }
  } catch (const Error&) {
    // The parent may be entered, but not read.
  }
  return std::nullopt;
}

}  // namespace belay::runtime
