// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/resume/data_files.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "belay/error.h"
#include "runtime/loader/options/option_path.h"
#include "runtime/manifest/show.h"
#include "runtime/manifest/toml_text.h"
#include "runtime/platform/files/crc32c.h"
#include "runtime/platform/files/path_pattern.h"

namespace belay::runtime {
namespace {

constexpr std::uint64_t kEndBytes = 64 << 10;
constexpr std::string_view kMark = "#file ";

std::uint32_t crc_of(const OpenFile& file, std::uint64_t begin, std::uint64_t end, std::uint32_t crc) {
  std::string block;
  for (std::uint64_t at = begin; at < end; at += block.size()) {
    block.resize(static_cast<std::size_t>(std::min<std::uint64_t>(end - at, 1 << 20)));
    file.read_at(at, block.data(), block.size());
    crc = crc32c(block, crc);
  }
  return crc;
}

// Returns the files that an option names: one, one with an array in it ("data.npz:rows"), or those of a pattern.
std::vector<std::string> named_files(const std::string& path) {
  std::error_code ignored;
  const std::string archive = path.substr(0, path.rfind(':'));
  if (!std::filesystem::exists(path, ignored) && std::filesystem::is_regular_file(archive, ignored)) return {archive};
  return files_of_pattern(path);
}

// Adds a file to a mark. False: it is no regular file.
bool add_file(FileSystem& files, const std::string& path, bool whole, DataFile& mark) {
  const FileStatus status = files.status(path);
  if (status.kind != FileKind::kFile) return false;
  const std::filesystem::path place = std::filesystem::canonical(path);  // a link's last part would not be opened
  const std::unique_ptr<OpenFile> file =
      files.open_directory(place.parent_path().string())->open(place.filename().string());
  const std::uint64_t bytes = file->size(), head = std::min(bytes, kEndBytes);
  const std::uint64_t tail = std::max(head, bytes - head);
  mark.bytes += bytes;
  mark.modified_ns = std::max(mark.modified_ns, status.modified_ns);
  mark.ends = crc_text(crc_of(*file, tail, bytes, crc_of(*file, 0, head, parse_crc(mark.ends).value_or(0))));
  if (whole) mark.whole = crc_text(crc_of(*file, 0, bytes, parse_crc(mark.whole).value_or(0)));
  return true;
}

std::optional<DataFile> mark(FileSystem& files, const std::string& option, const std::string& path, bool whole) {
  try {
    DataFile found{option, path, 0, 0, ""};
    const std::vector<std::string> names = named_files(path);
    for (const std::string& name : names)
      if (!add_file(files, name, whole, found)) return std::nullopt;
    return names.empty() ? std::nullopt : std::optional(found);
  } catch (const Error&) {
    return std::nullopt;
  } catch (const std::filesystem::filesystem_error&) {
    return std::nullopt;
  }
}

// Null: the plugin declares no such option; a key of a table is "layers.0.weights".
const OptionInfo* option_of(const PluginInfo& plugin, const std::string& key) {
  for (const OptionInfo& nested : plugin.nested)
    if (path_matches(nested.name, key)) return &nested;
  return plugin.option(key);
}

// Calls use(key, path) for each path that the options name; an element of a list is "paths.0".
template <class Use>
void for_each_path(const ResolvedPlugin& plugin, const Use& use) {
  for (std::uint64_t i = 0; i < plugin.options.size(); ++i) {
    const belay_named_value& given = plugin.options.data()[i];
    const std::string key(given.name.data, given.name.size);
    const OptionInfo* option = option_of(plugin.info, key);
    if (option == nullptr || option->type != OptionType::kPath || option->watching) continue;
    const OptionValue value = option_value(given.value);
    if (const auto* path = std::get_if<std::string>(&value)) use(key, *path);
    if (const auto* paths = std::get_if<std::vector<std::string>>(&value))
      for (std::size_t k = 0; k < paths->size(); ++k) use(fmt::format("{}.{}", key, k), (*paths)[k]);
  }
}

// Returns the option of `file`: "input.train.paths.0". Null: the manifest does not set it.
const PluginOption* given_as(const std::string& file, const std::string& section, const PluginUse& use) {
  for (const PluginOption& option : use.options) {
    const std::string name = section + "." + option.key;
    if (file == name || file.starts_with(name + ".")) return &option;
  }
  return nullptr;
}

bool has_variable(const OptionValue& value) {
  const auto has = [](const std::string& path) { return path.find("${") != std::string::npos; };
  if (const auto* path = std::get_if<std::string>(&value)) return has(*path);
  const auto* paths = std::get_if<std::vector<std::string>>(&value);
  return paths != nullptr && std::any_of(paths->begin(), paths->end(), has);
}

}  // namespace

std::vector<DataFile> data_files(FileSystem& files, const std::string& section, const ResolvedPlugin& plugin,
                                 bool whole) {
  std::vector<DataFile> found;
  for_each_path(plugin, [&](const std::string& key, const std::string& path) {
    if (std::optional<DataFile> file = mark(files, section + "." + key, path, whole)) found.push_back(std::move(*file));
  });
  return found;
}

std::vector<TrainingFile> training_files(FileSystem& files, const Manifest& manifest, const ResolvedPlugins& plugins,
                                         bool whole) {
  std::vector<TrainingFile> found;
  const auto add = [&](const std::string& section, const PluginUse& use, const ResolvedPlugin& plugin) {
    for (DataFile& file : data_files(files, section, plugin, whole)) {
      const PluginOption* option = given_as(file.option, section, use);
      found.push_back({std::move(file), option == nullptr ? use.at : option->value_at,
                       option != nullptr && has_variable(option->value)});
    }
  };
  const auto train = manifest.inputs.find("train");
  const auto input = plugins.inputs.find("train");
  if (train != manifest.inputs.end() && input != plugins.inputs.end()) add("input.train", train->second, input->second);
  if (manifest.model && plugins.model) add("model", *manifest.model, *plugins.model);
  if (plugins.optimizer) add("optimizer", optimizer_use(manifest), *plugins.optimizer);
  if (const auto schedule = schedule_use(manifest); schedule && plugins.schedule)
    add("optimizer.learning_rate", *schedule, *plugins.schedule);
  for (std::size_t i = 0; i < plugins.optimizer_groups.size(); ++i)
    if (plugins.optimizer_groups[i])
      add(fmt::format("optimizer.groups.{}", i), optimizer_use(manifest, i), *plugins.optimizer_groups[i]);
  const PluginsByPlace hooks(plugins.hooks);
  for (const auto& [section, use] : elements_of(manifest.hooks, "hooks"))
    if (const ResolvedPlugin* hook = hooks.find(*use)) add(section, *use, *hook);
  return found;
}

std::string data_file_lines(const std::vector<DataFile>& files) {
  std::string lines;
  for (const DataFile& f : files) {
    nlohmann::ordered_json line = {
        {"option", f.option}, {"path", f.path}, {"bytes", f.bytes}, {"modified_ns", f.modified_ns}, {"ends", f.ends}};
    if (!f.whole.empty()) line["whole"] = f.whole;
    lines += std::string(kMark) + line.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  }
  return lines;
}

std::vector<DataFile> parse_data_files(std::string_view manifest) {
  std::vector<DataFile> files;
  for (std::size_t at = 0; at < manifest.size();) {
    const std::size_t end = std::min(manifest.find('\n', at), manifest.size());
    const std::string_view line = manifest.substr(at, end - at);
    at = end + 1;
    if (!line.starts_with(kMark)) continue;
    const nlohmann::json json = nlohmann::json::parse(line.substr(kMark.size()), nullptr, false);
    try {
      DataFile f{json.at("option"), json.at("path"), json.at("bytes"), json.at("modified_ns"), json.at("ends")};
      f.whole = json.value("whole", "");
      files.push_back(std::move(f));
    } catch (const nlohmann::json::exception&) {
      continue;
    }
  }
  return files;
}

std::vector<std::string> data_file_sets(std::string_view manifest) {
  const auto exists = [](const std::string& path) {
    const std::vector<std::string> files = named_files(path);
    std::error_code ignored;
    return !files.empty() && std::filesystem::exists(files[0], ignored);
  };
  std::vector<std::string> sets;
  for (const DataFile& file : parse_data_files(manifest))
    if (!file.option.starts_with("hooks.") && exists(file.path))
      sets.push_back(file.option + "=" + toml_string(file.path));
  return sets;
}

std::string difference_of(const DataFile& before, const DataFile& now, bool& other_content) {
  const bool compare_whole = !before.whole.empty() && !now.whole.empty();
  other_content = true;
  if (before.bytes != now.bytes) return fmt::format("had {} bytes, has {}", before.bytes, now.bytes);
  if (before.ends != now.ends || (compare_whole && before.whole != now.whole)) return "has other bytes than it had";
  other_content = false;
  return before.modified_ns == now.modified_ns || compare_whole
             ? ""
             : "was written again; its size, beginning and end are the same";
}

}  // namespace belay::runtime
