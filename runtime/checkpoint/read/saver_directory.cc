// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/read/saver_directory.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "runtime/checkpoint/format/names.h"
#include "runtime/checkpoint/read/stored_place.h"
#include "runtime/platform/files/crc32c.h"
#include "runtime/platform/memory/checked_slot.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {

class SaverFile {
 public:
  // `number` is that of a file to read, in its directory's list.
  SaverFile(SaverDirectory& directory, std::string name, std::unique_ptr<OpenFile> file, bool writing,
            std::size_t number = 0)
      : directory_(directory),
        name_(std::move(name)),
        file_(std::move(file)),
        writing_(writing),
        number_(number),
        length_(writing ? 0 : file_->size()) {}

  SaverDirectory& directory() noexcept { return directory_; }
  const std::string& name() const noexcept { return name_; }
  // A saver may keep a file longer than it may use it.
  void require_open() const {
    if (file_ == nullptr) fail(Code::kFailedPrecondition, fmt::format("[B4006] '{}' is closed", name_));
  }
  std::uint64_t size() const {
    require_open();
    return length_;
  }
  void read_at(std::uint64_t offset, void* data, std::uint64_t size) {
    require_open();
    if (writing_) fail(Code::kFailedPrecondition, fmt::format("[B4006] '{}' is open for writing", name_));
    // A wrong size is more than the caller's memory, so nothing is read then.
    if (size > length_ - std::min(offset, length_))
      fail(Code::kDataLoss, fmt::format("[B4019] cannot read {}: it ends at byte {}, {} bytes were wanted from byte {}",
                                        single_quoted(file_->path()), length_, size, offset));
    // It reads in pieces, so that the checksum is computed while they are in the cache.
    std::uint32_t crc = 0;
    for (std::uint64_t done = 0; done < size; done += kPiece) {
      char* at = static_cast<char*>(data) + done;
      const std::uint64_t n = std::min(kPiece, size - done);
      file_->read_at(offset + done, at, n);
      crc = crc32c(at, n, crc);
    }
    directory_.read_.add(number_, offset, data, size, crc);
  }

  void write(const void* data, std::uint64_t size) {
    require_open();
    if (!writing_) fail(Code::kFailedPrecondition, fmt::format("[B4006] '{}' is open for reading", name_));
    if (size == 0) return;
    if (buffer_.size() + size > kBuffer) flush(*file_);
    if (buffer_.size() + size <= kBuffer) {
      take(data, size);
      buffer_.append(static_cast<const char*>(data), size);
      return;
    }
    // It writes in pieces, so that each is still in the cache after its checksum when the kernel copies it.
    const char* at = static_cast<const char*>(data);
    for (std::uint64_t done = 0; done < size; done += kPiece) {
      const std::uint64_t n = std::min(kPiece, size - done);
      take(at + done, n);
      file_->write(at + done, n);
    }
  }

  FileEntry close() {
    const std::unique_ptr<OpenFile> closing = std::move(file_);
    if (writing_) {
      flush(*closing);
      closing->sync();
    }
    closing->close();
    buffer_ = {};
    return {name_, length_, crc_};
  }
  bool writing() const noexcept { return writing_; }

 private:
  static constexpr std::size_t kBuffer = std::size_t{1} << 20;
  static constexpr std::uint64_t kPiece = std::uint64_t{1} << 18;

  void take(const void* data, std::uint64_t size) {
    crc_ = crc32c(data, size, crc_);
    length_ += size;
  }
  void flush(OpenFile& file) {
    if (!buffer_.empty()) file.write(buffer_.data(), buffer_.size());
    buffer_.clear();
  }

  SaverDirectory& directory_;
  std::string name_;
  std::unique_ptr<OpenFile> file_;  // null: it is closed
  bool writing_;
  std::size_t number_;
  std::string buffer_;
  std::uint64_t length_ = 0;
  std::uint32_t crc_ = 0;
};

namespace {

bool begins_as_json(const OpenFile& file) {
  char first = 0;
  if (file.size() != 0) file.read_at(0, &first, 1);
  return first == '{';
}

}  // namespace

SaverDirectory::SaverDirectory(OpenDirectory* writable, const OpenDirectory& directory, std::vector<std::string> names,
                               bool alias)
    : writable_(writable), directory_(directory), names_(std::move(names)), alias_(alias) {}
SaverDirectory::~SaverDirectory() = default;

SaverDirectory SaverDirectory::for_writing(OpenDirectory& directory) {
  return SaverDirectory(&directory, directory, {}, false);
}
SaverDirectory SaverDirectory::for_reading(const OpenDirectory& directory, std::vector<std::string> names) {
  return SaverDirectory(nullptr, directory, std::move(names), false);
}
SaverDirectory SaverDirectory::for_reading_one(const OpenDirectory& directory, std::string name) {
  return SaverDirectory(nullptr, directory, {std::move(name)}, true);
}

SaverFile* SaverDirectory::create(std::string_view name) {
  if (writable_ == nullptr) fail(Code::kFailedPrecondition, "[B4006] a saver that reads cannot create files");
  if (!is_entry_name(name) || is_hosts_file(name))
    fail(Code::kInvalidArgument, fmt::format("[B4006] a saver cannot name a file \"{}\"", escaped(name)));
  open_.push_back(std::make_unique<SaverFile>(*this, std::string(name), writable_->create(name), true));
  return open_.back().get();
}

SaverFile* SaverDirectory::open(std::string_view name) {
  if (writable_ != nullptr) fail(Code::kFailedPrecondition, "[B4006] a saver that writes cannot read");
  const std::string found = alias_ ? name_by_others(name) : std::string(name);
  const bool known = alias_ ? !found.empty() : std::find(names_.begin(), names_.end(), name) != names_.end();
  if (!known) {
    const bool renamed = alias_ && !begin_.empty() && name.starts_with(begin_);
    const std::string missing =
        renamed ? begin_by_others_ + std::string(name.substr(begin_.size())) : std::string(name);
    fail(Code::kNotFound, fmt::format("[B4018] the checkpoint has no file \"{}\"", escaped(missing)));
  }
  std::unique_ptr<OpenFile> file = directory_.open(found);
  open_.push_back(std::make_unique<SaverFile>(*this, std::string(name), std::move(file), false, number_of(found)));
  return open_.back().get();
}

// A file beside those that may be opened gets the number after all of them.
std::size_t SaverDirectory::number_of(std::string_view name) const {
  return static_cast<std::size_t>(std::find(names_.begin(), names_.end(), name) - names_.begin());
}

std::optional<std::uint32_t> SaverDirectory::read_checksum(std::string_view file, std::uint64_t size) const {
  const std::size_t number = number_of(file);
  return number == names_.size() ? std::nullopt : read_.of_file(number, size);
}

// Returns an empty name if there is none.
std::string SaverDirectory::name_by_others(std::string_view name) {
  const std::string& one = names_.front();
  const auto beside = [&](std::string candidate) {
    return is_entry_name(candidate) && candidate != one && directory_.exists(candidate) ? candidate : "";
  };
  if (begin_.empty()) {
    // Pairs are "model" and ".index", "x" and ".index".
    const std::string_view ending = name.substr(std::min(name.find('.'), name.size()));
    const bool same = !ending.empty() && one.size() > ending.size() && one.ends_with(ending);
    // It is another format of the same saver. The saver asks for that one first.
    if (!same && saver_of_name(one) == saver_of_name(name) && !saver_of_name(one).empty()) return "";
    if (!same && name.ends_with(".json") && !begins_as_json(*directory_.open(one))) return "";
    begin_ = name.substr(0, name.size() - (same ? ending.size() : 0));
    begin_by_others_ = one.substr(0, one.size() - (same ? ending.size() : 0));
    return one;
  }
  if (!name.starts_with(begin_)) return beside(std::string(name));
  const std::string other = begin_by_others_ + std::string(name.substr(begin_.size()));
  if (other == one) return one;
  const std::string found = beside(other);
  return found.empty() ? beside(std::string(name)) : found;
}

void SaverDirectory::close(SaverFile* file) {
  const auto at = std::find_if(open_.begin(), open_.end(), [&](const auto& f) { return f.get() == file; });
  if (at == open_.end()) fail(Code::kFailedPrecondition, fmt::format("[B4006] '{}' is closed already", file->name()));
  gone_.push_back(std::move(*at));  // also if closing fails
  open_.erase(at);
  FileEntry entry = file->close();
  if (file->writing()) closed_.push_back(std::move(entry));
}

void SaverDirectory::note_failure(const Error& e) {
  if (failure_ == nullptr) failure_ = std::make_unique<Error>(e);
}

std::vector<FileEntry> SaverDirectory::written() const {
  if (failure_ != nullptr) throw Error(*failure_);
  if (!open_.empty()) fail(Code::kInternal, fmt::format("[B4026] it left the file '{}' open", open_.front()->name()));
  if (closed_.empty()) fail(Code::kInternal, "[B4026] it left no file");
  return closed_;
}

struct FilesService {
  static SaverDirectory& from(belay_dir* dir) noexcept { return *reinterpret_cast<SaverDirectory*>(dir); }
  static SaverFile& from(belay_file* file) noexcept { return *reinterpret_cast<SaverFile*>(file); }

  // Runs f. The saver handles an error; it is remembered in case the saver does not.
  template <class F>
  static std::int32_t call(SaverDirectory& directory, belay_status* status, F&& f) noexcept {
    return belay::detail::guard(status, [&] {
      try {
        f();
      } catch (const Error& e) {
        directory.note_failure(e);
        throw;
      } catch (const std::exception& e) {
        directory.note_failure(Error(Code::kInternal, e.what()));
        throw;
      }
    });
  }

  static std::int32_t create(belay_dir* dir, belay_str name, belay_file** file, belay_status* status) {
    return call(from(dir), status,
                [&] { *file = reinterpret_cast<belay_file*>(from(dir).create(belay::detail::view(name))); });
  }
  static std::int32_t open(belay_dir* dir, belay_str name, belay_file** file, belay_status* status) {
    return call(from(dir), status,
                [&] { *file = reinterpret_cast<belay_file*>(from(dir).open(belay::detail::view(name))); });
  }
  static std::int32_t write(belay_file* file, const void* data, std::uint64_t size, belay_status* status) {
    return call(from(file).directory(), status, [&] { from(file).write(data, size); });
  }
  static std::int32_t size(belay_file* file, std::uint64_t* size, belay_status* status) {
    return call(from(file).directory(), status, [&] { *size = from(file).size(); });
  }
  static std::int32_t read_at(belay_file* file, std::uint64_t offset, void* data, std::uint64_t size,
                              belay_status* status) {
    return call(from(file).directory(), status, [&] { from(file).read_at(offset, data, size); });
  }
  static std::int32_t close(belay_file* file, belay_status* status) {
    SaverDirectory& directory = from(file).directory();
    return call(directory, status, [&] { directory.close(&from(file)); });
  }

  static constexpr belay_files_api kTable{sizeof(belay_files_api),
                                          0,
                                          checked<create, detail::name_of_files_create>,
                                          checked<open, detail::name_of_files_open>,
                                          checked<write, detail::name_of_files_write>,
                                          checked<size, detail::name_of_files_size>,
                                          checked<read_at, detail::name_of_files_read_at>,
                                          checked<close, detail::name_of_files_close>};
};

const belay_files_api* files_service() noexcept { return &FilesService::kTable; }

void check_left(const OpenDirectory& directory, const std::vector<FileEntry>& files) {
  for (const std::string& entry : directory.entries()) {
    const FileStatus status = directory.status(entry);
    const char* kind = status.kind == FileKind::kDirectory ? "a directory"
                       : status.kind == FileKind::kSymlink ? "a symbolic link"
                       : status.kind == FileKind::kOther   ? "no regular file"
                                                           : nullptr;
    if (kind != nullptr)
      fail(Code::kInternal, fmt::format("[B4026] it left {}, which is {}", single_quoted(entry), kind));
    const auto known = std::find_if(files.begin(), files.end(), [&](const FileEntry& f) { return f.name == entry; });
    if (known == files.end() || known->length != status.size)
      fail(Code::kInternal,
           fmt::format("[B4026] it left {}, which it did not write through the host", single_quoted(entry)));
  }
}

}  // namespace belay::runtime
