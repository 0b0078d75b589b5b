// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/read/stored_place.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <utility>
#include <vector>

#include "belay/error.h"
#include "belay/file_kind.h"
#include "runtime/checkpoint/format/names.h"
#include "runtime/checkpoint/format/state_file.h"
#include "runtime/checkpoint/read/best_checkpoints.h"
#include "runtime/checkpoint/read/find_restorable.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

constexpr std::string_view kTensorFlowEnding = ".index";

struct Ending {
  std::string_view ending, saver;
};
constexpr Ending kEndings[] = {{".safetensors", "safetensors"},
                               {".safetensors.index.json", "safetensors"},
                               {".npz", "npz"},
                               {kTensorFlowEnding, "tf_bundle"}};

std::string_view without_ending(std::string_view name) {
  for (const Ending& e : kEndings)
    if (name.ends_with(e.ending)) return name.substr(0, name.size() - e.ending.size());
  return name;
}

// Returns the checkpoint that TensorFlow's state file names, in a directory without belay's checkpoints.
std::string tensorflow_current(const OpenDirectory& directory) {
  try {
    const auto state = read_checkpoint_state(directory);
    if (!state || !is_entry_name(state->current)) return "";
    const std::string index = state->current + std::string(kTensorFlowEnding);
    return directory.exists(index) ? index : "";
  } catch (const Error&) {
    return "";  // find_restorable reports it
  }
}

StoredPlace of_checkpoint(std::unique_ptr<CheckpointReader> checkpoint) {
  StoredPlace place{std::move(checkpoint), "", ""};
  place.path = place.checkpoint->path();
  place.saver = place.checkpoint->index().saver;
  return place;
}

StoredPlace of_directory(FileSystem& files, const std::string& path, Logger& log) {
  std::unique_ptr<OpenDirectory> directory = files.open_directory(path);
  if (directory->exists(kIndexName)) return of_checkpoint(CheckpointReader::open(std::move(directory)));
  if (const std::string index = tensorflow_current(*directory); !index.empty())
    return {nullptr, path_in(path, index), saver_of_name(index)};
  auto newest = find_restorable(*directory, log);
  if (newest == nullptr)
    fail(Code::kNotFound, fmt::format("[B4025] {} is neither a checkpoint (it has no index) nor does it hold one "
                                      "(model.ckpt-*); another program's is named by its file",
                                      single_quoted(path)));
  return of_checkpoint(std::move(newest));
}

}  // namespace

PathParts path_parts(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  const std::size_t slash = path.rfind('/');
  if (slash == path.npos) return {".", path};
  return {slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
}

std::string saver_of_name(std::string_view name) {
  for (const Ending& e : kEndings)
    if (name.ends_with(e.ending) && name.size() > e.ending.size()) return std::string(e.saver);
  return "";
}

std::string saver_of_entry(const OpenDirectory& directory, const std::string& name) {
  std::string saver = saver_of_name(name);
  if (saver.empty() || directory.status(name).kind != FileKind::kFile) return "";
  if (!name.ends_with(kTensorFlowEnding)) return saver;
  const std::string data = std::string(without_ending(name)) + ".data-";
  const std::vector<std::string> entries = directory.entries();
  const bool has_data = std::any_of(entries.begin(), entries.end(), [&](const auto& e) { return e.starts_with(data); });
  return has_data ? saver : "";
}

std::string saver_of_file(const OpenDirectory& directory, const std::string& name) {
  if (std::string saver = saver_of_name(name); !saver.empty()) return saver;
  constexpr std::array<unsigned char, 8> kTableMagic = {0x57, 0xfb, 0x80, 0x8b, 0x24, 0x75, 0x47, 0xdb};
  const std::unique_ptr<OpenFile> file = directory.open(name);
  const std::uint64_t size = file->size();
  std::array<unsigned char, 9> head{};
  std::array<unsigned char, 8> tail{};
  if (size < head.size()) return "";
  file->read_at(0, head.data(), head.size());
  file->read_at(size - tail.size(), tail.data(), tail.size());
  if (std::memcmp(head.data(), "PK\3\4", 4) == 0) return "npz";
  if (tail == kTableMagic) return "tf_bundle";
  // It checks the length of the header, and its first character.
  std::uint64_t length = 0;
  for (int i = 7; i >= 0; --i) length = length << 8 | head[static_cast<std::size_t>(i)];
  return head[8] == '{' && length <= size - 8 ? "safetensors" : "";
}

std::string no_saver_text(FileSystem& files, const std::string& path, const std::string& option) {
  const PathParts parts = path_parts(path);
  const std::unique_ptr<OpenFile> file = files.open_directory(parts.parent)->open(parts.name);
  std::string begin(static_cast<std::size_t>(std::min<std::uint64_t>(file->size(), 512)), '\0');
  file->read_at(0, begin.data(), begin.size());
  return single_quoted(path) + " " +
         foreign_text(begin, "file that a saver reads", "write its tensors with safetensors.torch.save_file",
                      "does not show which saver wrote it: name one with " + option +
                          ", as in safetensors; `belay plugins` lists those that there are");
}

StoredPlace find_stored(FileSystem& files, const std::string& given, Logger& log) {
  const PathParts parts = path_parts(given);
  const std::string path = path_in(parts.parent, parts.name);
  if (!files.exists(path)) {
    const std::string index = path + std::string(kTensorFlowEnding);
    if (files.exists(index)) return {nullptr, index, saver_of_name(index)};
    fail(Code::kNotFound, fmt::format("[B4025] there is no {}", single_quoted(path)));
  }
  if (files.status(path).kind == FileKind::kDirectory) return of_directory(files, path, log);
  const std::unique_ptr<OpenDirectory> parent = files.open_directory(parts.parent);
  if (parts.name == kBestName) return of_checkpoint(find_best(*parent, log));
  return {nullptr, path, saver_of_file(*parent, parts.name)};
}

std::string_view without_shard(std::string_view name) noexcept {
  constexpr std::string_view kShard = "-00000-of-00000";
  const std::string_view end = name.substr(name.size() - std::min(name.size(), kShard.size()));
  const auto alike = [](char c, char like) { return like == '0' ? c >= '0' && c <= '9' : c == like; };
  return std::equal(end.begin(), end.end(), kShard.begin(), kShard.end(), alike)
             ? name.substr(0, name.size() - end.size())
             : name;
}

std::optional<std::int64_t> step_of_file(std::string_view name) {
  name = without_shard(without_ending(name));
  const std::size_t dash = name.rfind('-');
  if (dash == name.npos || dash + 1 == name.size()) return std::nullopt;
  std::int64_t step = 0;
  const auto [end, error] = std::from_chars(name.data() + dash + 1, name.data() + name.size(), step);
  return error == std::errc() && end == name.data() + name.size() && step >= 0 ? std::optional(step) : std::nullopt;
}

}  // namespace belay::runtime
