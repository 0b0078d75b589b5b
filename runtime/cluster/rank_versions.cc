// SPDX-License-Identifier: Apache-2.0
#include "runtime/cluster/rank_versions.h"

#include <fmt/core.h>

#include <sstream>

#include "runtime/platform/files/crc32c.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

// Each plugin has a line "PLUGIN BUILD". A plugin's name has no space.
std::string text_of(const std::map<std::string, std::string>& builds) {
  std::string text;
  for (const auto& [plugin, build] : builds) text += plugin + " " + build + "\n";
  return text;
}
std::map<std::string, std::string> builds_in(const std::string& text) {
  std::map<std::string, std::string> builds;
  std::istringstream lines(text);
  for (std::string plugin, build; lines >> plugin >> build;) builds[plugin] = build;
  return builds;
}

// Each key has a line "KEY\tVALUE".
std::string text_of(const std::vector<std::pair<std::string, std::string>>& manifest) {
  std::string text;
  for (const auto& [key, value] : manifest) text += escaped(key) + "\t" + escaped(value) + "\n";
  return text;
}
std::map<std::string, std::string> values_in(const std::string& text) {
  std::map<std::string, std::string> values;
  std::istringstream lines(text);
  for (std::string key, value; std::getline(lines, key, '\t') && std::getline(lines, value);) values[key] = value;
  return values;
}

// Returns "optimizer.learning_rate is 0.5 there, and 0.1 on rank 0".
std::string first_difference(const std::string& there, const std::string& on_chief) {
  const std::map<std::string, std::string> theirs = values_in(there), chiefs = values_in(on_chief);
  for (const auto& [key, value] : theirs) {
    const auto found = chiefs.find(key);
    if (found == chiefs.end()) return key + " is " + value + " there, and not set on rank 0";
    if (found->second != value) return key + " is " + value + " there, and " + found->second + " on rank 0";
  }
  for (const auto& [key, value] : chiefs)
    if (!theirs.contains(key)) return key + " is not set there, and " + value + " on rank 0";
  return "its hooks are in another order";
}

std::string text_of(const std::vector<RankVersions::File>& files) {
  std::string text;
  for (const RankVersions::File& f : files)
    text += fmt::format("{}\t{}\t{}\t{}\t{}\t{}\n", escaped(f.option), escaped(f.path), f.bytes, f.ends, f.whole,
                        f.by_variable ? "1" : "0");
  return text;
}
std::vector<RankVersions::File> files_in(const std::string& text) {
  std::vector<RankVersions::File> files;
  std::istringstream lines(text);
  const auto word = [&](std::string& to) { return static_cast<bool>(std::getline(lines, to, '\t')); };
  RankVersions::File f;
  for (std::string bytes, own;
       word(f.option) && word(f.path) && word(bytes) && word(f.ends) && word(f.whole) && std::getline(lines, own);) {
    f.bytes = std::stoull(bytes);
    f.by_variable = own == "1";
    files.push_back(f);
  }
  return files;
}

bool differ(const RankVersions::File& one, const RankVersions::File& other) {
  const bool wholes = !one.whole.empty() && !other.whole.empty();
  return one.bytes != other.bytes || one.ends != other.ends || (wholes && one.whole != other.whole);
}

// Returns "input.train.path is '/b/x.csv' with 600 bytes, checksum ... there, and '/a/x.csv' ... on rank 0".
std::string difference_of(const RankVersions::File& there, const RankVersions::File& on_chief) {
  const auto text = [](const RankVersions::File& f) {
    return fmt::format("{} with {} bytes, checksum {}", single_quoted(f.path), f.bytes,
                       f.whole.empty() ? f.ends : f.whole);
  };
  return there.option + " is " + text(there) + " there, and " + text(on_chief) + " on rank 0";
}

// A manifest differs. The error names the first such key.
void compare_manifests(const RankMeeting& meeting, const RankVersions& mine) {
  const std::vector<std::string> all = meeting.group().gather_texts(text_of(mine.manifest));
  for (std::size_t r = 1; r < all.size(); ++r)
    if (all[r] != all[0])
      fail(Code::kInvalidArgument,
           fmt::format("[B5101] {} has another manifest than rank 0: {}; start all with the same",
                       meeting.name_of(static_cast<int>(r)), first_difference(all[r], all[0])));
}

// Each rank has the plugins that its part of the manifest needs. The chief has more.
void compare_plugins(const RankMeeting& meeting, const RankVersions& mine) {
  const std::vector<std::string> all = meeting.group().gather_texts(text_of(mine.builds));
  const std::map<std::string, std::string> chiefs = builds_in(all[0]);
  for (std::size_t r = 1; r < all.size(); ++r)
    for (const auto& [plugin, build] : builds_in(all[r]))
      if (const auto found = chiefs.find(plugin); found != chiefs.end() && found->second != build)
        fail(Code::kInvalidArgument,
             fmt::format("[B5101] {} has another build of the plugin {} than rank 0; start all with the same",
                         meeting.name_of(static_cast<int>(r)), double_quoted(plugin)));
}

// All ranks see the same strings, so either all fail or none does.
std::string compare_files(const RankMeeting& meeting, const RankVersions& mine) {
  const std::vector<std::string> all = meeting.group().gather_texts(text_of(mine.files));
  const std::vector<RankVersions::File> chiefs = files_in(all[0]);
  std::vector<std::string> errors, warnings;
  for (std::size_t r = 1; r < all.size(); ++r)
    for (const RankVersions::File& file : files_in(all[r]))
      for (const RankVersions::File& chief : chiefs)
        if (file.option == chief.option && differ(file, chief))
          (file.by_variable && chief.by_variable ? warnings : errors)
              .push_back(meeting.name_of(static_cast<int>(r)) +
                         " has other data than rank 0: " + difference_of(file, chief));
  const auto first = [](const std::vector<std::string>& all_found) {
    return all_found[0] +
           (all_found.size() == 1 ? "" : fmt::format(" (and {} more that differ)", all_found.size() - 1));
  };
  if (!errors.empty())
    fail(Code::kInvalidArgument, fmt::format("[B5101] {}; give all ranks the same file, or name each rank's own by a "
                                             "variable, as in \"part-${{RANK}}.csv\"",
                                             first(errors)));
  if (warnings.empty()) return "";
  return fmt::format("{}; each rank reads its part of the file that it has, 1 of {}", first(warnings), meeting.size());
}

}  // namespace

std::string compare_versions(const RankMeeting& meeting, const RankVersions& mine) {
  const std::vector<std::int64_t> all = meeting.group().all_gather(
      {static_cast<std::int64_t>(crc32c(text_of(mine.manifest))), static_cast<std::int64_t>(mine.program)});
  for (std::size_t r = 1; 2 * r < all.size(); ++r) {
    if (all[2 * r] != all[0]) compare_manifests(meeting, mine);
    if (all[2 * r + 1] != all[1])
      fail(Code::kInvalidArgument,
           fmt::format("[B5101] {} is another build of belay than rank 0; start all with the same",
                       meeting.name_of(static_cast<int>(r))));
  }
  compare_plugins(meeting, mine);
  return compare_files(meeting, mine);
}

}  // namespace belay::runtime
