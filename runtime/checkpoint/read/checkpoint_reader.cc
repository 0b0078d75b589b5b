// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/read/checkpoint_reader.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>

#include "runtime/checkpoint/format/names.h"
#include "runtime/checkpoint/format/state_data.h"
#include "runtime/checkpoint/read/best_checkpoints.h"
#include "runtime/checkpoint/read/find_restorable.h"
#include "runtime/checkpoint/read/restore_error.h"
#include "runtime/checkpoint/read/run_state.h"
#include "runtime/checkpoint/read/saver_directory.h"
#include "runtime/platform/files/crc32c.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

using Targets = std::map<std::string, NamedTensor, std::less<>>;

// A tensor up to this size is still in the cache after its read. So its checksum costs next to nothing.
constexpr std::uint64_t kAlwaysSummed = std::uint64_t{1} << 16;

// Returns the status of a file that must be there.
FileStatus status_of_part(const OpenDirectory& directory, std::string_view name) {
  if (!directory.exists(name)) fail(Code::kDataLoss, fmt::format("[B4018] {} is missing", name));
  const FileStatus status = directory.status(name);
  if (status.kind != FileKind::kFile) fail(Code::kDataLoss, fmt::format("[B4018] {} is no regular file", name));
  return status;
}

CheckpointIndex read_index(const OpenDirectory& directory) {
  const std::uint64_t size = status_of_part(directory, kIndexName).size;
  if (size > kMaxIndexBytes)
    fail(Code::kDataLoss, fmt::format("[B4019] index: it has {} bytes, at most {} are read", size, kMaxIndexBytes));
  const std::string text = directory.read(kIndexName, kMaxIndexBytes);
  try {
    return parse_index(text);
  } catch (const Error& e) {
    fail(e.code(), "index: " + std::string(e.message()));
  }
}

void check_length(const OpenDirectory& directory, const FileEntry& entry) {
  const std::uint64_t size = status_of_part(directory, entry.name).size;
  if (size != entry.length)
    fail(Code::kDataLoss,
         fmt::format("[B4019] {} has {} bytes, but the index records {}", entry.name, size, entry.length));
}

void check_file(const OpenDirectory& directory, const FileEntry& entry) {
  check_length(directory, entry);
  const std::uint64_t size = entry.length;
  const std::unique_ptr<OpenFile> file = directory.open(entry.name);
  // This much stays in the cache for the checksum.
  std::string buffer(static_cast<std::size_t>(std::min<std::uint64_t>(size, std::uint64_t{1} << 18)), '\0');
  std::uint32_t crc = 0;
  for (std::uint64_t at = 0; at < size;) {
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(size - at, buffer.size()));
    file->read_at(at, buffer.data(), n);
    crc = crc32c(buffer.data(), n, crc);
    at += n;
  }
  if (crc != entry.crc32c)
    fail(Code::kDataLoss, fmt::format("[B4010] {} has the CRC32C {} (bytes 0 to {}), but the index records {}",
                                      entry.name, crc_text(crc), size, crc_text(entry.crc32c)));
}

RunState read_state(const OpenDirectory& directory, const CheckpointIndex& index) {
  if (directory.status(kStateName).size > kMaxStateBytes)
    fail(Code::kDataLoss, fmt::format("[B4019] state: it has more than {} bytes", kMaxStateBytes));
  RunState state;
  try {
    state = parse_run_state(directory.read(kStateName, kMaxStateBytes));
    open_state_data(state, directory, index);
  } catch (const Error& e) {
    fail(e.code(), "state: " + std::string(e.message()));
  }
  if (state.global_step != index.global_step)
    fail(Code::kDataLoss, fmt::format("[B4020] state: global_step is {}, but the index records {}", state.global_step,
                                      index.global_step));
  return state;
}

std::vector<TensorInfo> sorted(std::vector<TensorInfo> tensors) {
  std::sort(tensors.begin(), tensors.end(), [](const TensorInfo& a, const TensorInfo& b) { return a.name < b.name; });
  return tensors;
}

Targets checked_targets(const std::vector<NamedTensor>& targets, const std::vector<TensorInfo>& stored,
                        const std::string& path) {
  std::map<std::string_view, const TensorInfo*> by_name;
  for (const TensorInfo& t : stored) by_name[t.name] = &t;
  Targets wanted;
  for (const NamedTensor& target : targets) {
    const auto at = by_name.find(target.name);
    if (at == by_name.end()) {
      std::vector<std::string> names;
      names.reserve(stored.size());
      for (const TensorInfo& t : stored) names.push_back(t.name);
      fail(Code::kNotFound, fmt::format("[B4022] {} has no tensor {}{}", single_quoted(path),
                                        single_quoted(target.name), did_you_mean(target.name, names)));
    }
    const TensorView view(target.tensor);
    const TensorInfo given{target.name, view.dtype(), view.dims()};
    if (given != *at->second)
      fail(Code::kInvalidArgument,
           fmt::format("[B4023] tensor {} is {} in {}, the memory for it is {}", single_quoted(target.name),
                       form_text(*at->second), single_quoted(path), form_text(given)));
    if (!wanted.emplace(target.name, target).second)
      fail(Code::kInvalidArgument, fmt::format("[B4023] tensor {} is asked for twice", single_quoted(target.name)));
  }
  return wanted;
}

// Runs f and adds the path to its errors.
template <class F>
auto in_path(const std::string& path, F&& f) {
  try {
    return f();
  } catch (const Error& e) {
    throw RestoreError(e.code(), single_quoted(path) + ": " + std::string(e.message()));
  }
}

// A file without an index.
class ForeignFile final : public StoredTensors {
 public:
  ForeignFile(std::unique_ptr<OpenDirectory> directory, std::string name, const SaverUse& saver)
      : directory_(std::move(directory)), name_(std::move(name)), path_(directory_->path() + "/" + name_) {
    for (const auto& [key, tensor] : call(saver, {})) tensors_.push_back(tensor);
  }
  const std::string& path() const override { return path_; }
  std::vector<TensorInfo> tensors() const override { return tensors_; }
  void read(const SaverUse& saver, const std::vector<NamedTensor>& targets) const override {
    const Targets wanted = checked_targets(targets, tensors_, path_);
    const auto found = call(saver, wanted);
    for (const auto& [name, target] : wanted)
      if (!found.contains(name))
        fail(Code::kDataLoss,
             fmt::format("[B4018] {} no longer has tensor {}", single_quoted(path_), single_quoted(name)));
  }

 private:
  std::map<std::string, TensorInfo, std::less<>> call(const SaverUse& saver, const Targets& wanted) const {
    return in_path(path_, [&] {
      SaverDirectory files = SaverDirectory::for_reading_one(*directory_, name_);
      TensorsToRead tensors(wanted);
      call_read(saver, files.handle(), tensors.handle());
      return tensors.all();
    });
  }

  std::unique_ptr<OpenDirectory> directory_;
  std::string name_, path_;
  std::vector<TensorInfo> tensors_;
};

}  // namespace

CheckpointReader::CheckpointReader(std::unique_ptr<OpenDirectory> directory, CheckpointIndex index, RunState state,
                                   CheckFiles check)
    : directory_(std::move(directory)), index_(std::move(index)), state_(std::move(state)), check_(check) {}

std::unique_ptr<CheckpointReader> CheckpointReader::open(std::unique_ptr<OpenDirectory> directory, CheckFiles check) {
  const std::string path = directory->path();
  return in_path(path, [&] {
    CheckpointIndex index = read_index(*directory);
    for (const FileEntry& file : index.files)
      check == CheckFiles::kWhenRead && !is_hosts_file(file.name) ? check_length(*directory, file)
                                                                  : check_file(*directory, file);
    RunState state = read_state(*directory, index);
    return std::unique_ptr<CheckpointReader>(
        new CheckpointReader(std::move(directory), std::move(index), std::move(state), check));
  });
}

// Checks the saver's files that were not already found whole while it read them.
void CheckpointReader::check_unread(const SaverDirectory& read) const {
  if (check_ == CheckFiles::kWhenOpened) return;
  for (const FileEntry& f : index_.files)
    if (!is_hosts_file(f.name) && read.read_checksum(f.name, f.length) != f.crc32c) check_file(*directory_, f);
}

std::string CheckpointReader::name() const { return path().substr(path().rfind('/') + 1); }

std::string CheckpointReader::schema() const {
  for (const FileEntry& f : index_.files)
    if (f.name == kSchemaName) return directory_->read(kSchemaName, f.length);
  return "";
}

std::vector<TensorInfo> CheckpointReader::tensors() const {
  return sorted({index_.tensors.begin(), index_.tensors.end()});
}

void CheckpointReader::read(const SaverUse& saver, const std::vector<NamedTensor>& targets) const {
  if (saver.name != index_.saver)
    throw RestoreError(Code::kFailedPrecondition,
                       fmt::format("[B4035] {} was written by the saver {}, this one is {}: set [scaffold] saver = {{ "
                                   "plugin = \"{}\" }}",
                                   single_quoted(path()), single_quoted(index_.saver), single_quoted(saver.name),
                                   escaped(index_.saver)));
  const std::vector<TensorInfo> stored = tensors();
  const Targets wanted = checked_targets(targets, stored, path());
  in_path(path(), [&] {
    std::vector<std::string> names;
    for (const FileEntry& f : index_.files)
      if (!is_hosts_file(f.name)) names.push_back(f.name);
    SaverDirectory files = SaverDirectory::for_reading(*directory_, std::move(names));
    TensorsToRead tensors(wanted);
    try {
      call_read(saver, files.handle(), tensors.handle());
    } catch (const Error&) {
      check_unread(files);  // damage explains more than the saver's error
      throw;
    }
    check_unread(files);
    for (const TensorEntry& expected : index_.tensors) {
      const auto found = tensors.all().find(expected.name);
      if (found == tensors.all().end())
        fail(Code::kDataLoss, fmt::format("[B4024] the saver {} did not find tensor {}", single_quoted(saver.name),
                                          single_quoted(expected.name)));
      if (found->second != expected)
        fail(Code::kDataLoss, fmt::format("[B4024] the saver {} found tensor {} as {}, but the index records {}",
                                          single_quoted(saver.name), single_quoted(expected.name),
                                          form_text(found->second), form_text(expected)));
      const auto target = wanted.find(expected.name);
      if (target == wanted.end()) continue;
      const void* data = target->second.tensor.data;
      const std::uint64_t bytes = TensorView(target->second.tensor).bytes();
      // The checksum of a read does not show later changes of the memory by the saver.
      const bool trusts_read = check_ == CheckFiles::kWhenRead && bytes > kAlwaysSummed;
      if (trusts_read && files.read_checksum(data, bytes) == expected.crc32c) continue;
      const std::uint32_t crc = crc32c(data, bytes);
      if (crc != expected.crc32c)
        fail(Code::kDataLoss, fmt::format("[B4024] the files are whole, and tensor {} has the CRC32C {} as the saver "
                                          "{} read it, but the index records {}",
                                          single_quoted(expected.name), crc_text(crc), single_quoted(saver.name),
                                          crc_text(expected.crc32c)));
    }
    if (tensors.all().size() == index_.tensors.size()) return;
    for (const auto& [name, tensor] : tensors.all())
      if (std::ranges::find(index_.tensors, name, &TensorEntry::name) == index_.tensors.end())
        fail(Code::kDataLoss,
             fmt::format("[B4024] the saver {} found tensor {}, which it has not written: the index does not have it",
                         single_quoted(saver.name), single_quoted(name)));
  });
}

std::unique_ptr<StoredTensors> open_stored_tensors(FileSystem& files, const std::string& path, const SaverUse& saver,
                                                   Logger& log) {
  if (!files.exists(path)) fail(Code::kNotFound, fmt::format("[B4025] there is no {}", single_quoted(path)));
  if (files.status(path).kind != FileKind::kDirectory) {
    const std::size_t slash = path.rfind('/');
    const std::string parent = slash == path.npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
    if (path.substr(slash + 1) == kBestName) return find_best(*files.open_directory(parent), log);
    return std::make_unique<ForeignFile>(files.open_directory(parent), path.substr(slash + 1), saver);
  }
  std::unique_ptr<OpenDirectory> directory = files.open_directory(path);
  if (directory->exists(kIndexName)) return CheckpointReader::open(std::move(directory));
  auto newest = find_restorable(*directory, log);
  if (newest == nullptr)
    fail(Code::kNotFound,
         fmt::format("[B4025] {} is neither a checkpoint (it has no index) nor holds one (no model.ckpt-*)",
                     single_quoted(path)));
  return newest;
}

}  // namespace belay::runtime
