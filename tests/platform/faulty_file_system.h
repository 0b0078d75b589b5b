// SPDX-License-Identifier: Apache-2.0
// A file system that fails on demand and remembers its calls. It is for tests of code that must survive a full disk,
// and of the order of the steps of a save. [any thread, as the file system that it wraps]
//
//   FaultyFileSystem files(posix_file_system());
//   files.fail(FileCall::kSync, 2, Error(Code::kDataLoss, "disk on fire"));   // the second sync from here on, once
//   auto directory = files.make_directories(path);
//   ...
//   EXPECT_THAT(files.calls(), ElementsAre("make_directory .", "create a", "write a", "sync a", "close a", "sync ."));
//
// Paths in calls() are relative to the directory that was opened or made through the file system ("."). A call that
// fails is remembered too. A failing call first does this: a write leaves half of its bytes, a close closes, all others
// do nothing.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "belay/error.h"
#include "runtime/platform/files/file_system.h"

namespace belay::runtime {

enum class FileCall { kCreate, kOpen, kWrite, kSync, kRename, kClose, kMakeDirectory, kRemove, kRead };
inline constexpr std::size_t kFileCalls = 9;

enum class HowOften { kOnce, kForEver };

// A call of the system fails with this. The file system itself makes it an error that names call and path.
struct DiskError {
  Code code;
  const char* words;
};
// Those of a disk: ENOSPC, EDQUOT, EIO, EACCES, EROFS. The file system tries again after EINTR.
inline constexpr std::array<DiskError, 5> kDiskErrors = {{{Code::kResourceExhausted, "No space left on device"},
                                                          {Code::kResourceExhausted, "Disk quota exceeded"},
                                                          {Code::kDataLoss, "Input/output error"},
                                                          {Code::kPermissionDenied, "Permission denied"},
                                                          {Code::kPermissionDenied, "Read-only file system"}}};

class FaultyFileSystem final : public FileSystem {
 public:
  explicit FaultyFileSystem(FileSystem& files) : files_(files), state_(std::make_shared<State>()) {}

  // The nth call of this kind, counted from 1 and from now, throws; with kForEver all later ones do too. A fault that
  // was planned for this kind before is forgotten.
  void fail(FileCall kind, int nth, Error error, HowOften how_often = HowOften::kOnce) {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    state_->faults[static_cast<std::size_t>(kind)] = Fault{nth, std::move(error), how_often};
  }
  // The same for the nth call of any kind.
  void fail_any(int nth, Error error, HowOften how_often = HowOften::kOnce) {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    state_->faults[kFileCalls] = Fault{nth, std::move(error), how_often};
  }
  // The nth call of any kind fails as the system's does: "cannot write '/run/a': No space left on device".
  void fail_any(int nth, const DiskError& error, HowOften how_often = HowOften::kOnce) {
    fail_any(nth, Error(error.code, error.words), how_often);
    const std::lock_guard<std::mutex> lock(state_->mutex);
    state_->faults[kFileCalls]->names_call = true;
  }
  void heal() {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    state_->faults = {};
    state_->free_bytes.reset();
  }
  // Sets the result of free_bytes from now on. Writes do not look at it.
  void say_free(std::uint64_t bytes) {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    state_->free_bytes = bytes;
  }

  // "create a/b", "rename a -> b", "lock lock", ... in order.
  std::vector<std::string> calls() const {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    return state_->calls;
  }
  // calls(), with a run of writes to, or reads from, the same file as one.
  std::vector<std::string> calls_without_repeats() const;
  void forget_calls() {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    state_->calls.clear();
  }

  std::unique_ptr<OpenDirectory> open_directory(const std::string& path) override;
  std::unique_ptr<OpenDirectory> make_directories(const std::string& path) override;
  bool exists(const std::string& path) const override { return files_.exists(path); }
  FileStatus status(const std::string& path) const override { return files_.status(path); }
  void rename(const std::string& from, const std::string& to) override {
    state_->check(FileCall::kRename, "rename " + from + " -> " + to);
    files_.rename(from, to);
  }
  std::uint64_t free_bytes(const std::string& path) const override {
    {
      const std::lock_guard<std::mutex> lock(state_->mutex);
      if (state_->free_bytes) return *state_->free_bytes;
    }
    return files_.free_bytes(path);
  }

 private:
  struct Fault {
    int left = 0;  // 1: the next call
    Error error{Code::kOk, ""};
    HowOften how_often = HowOften::kOnce;
    bool names_call = false;
  };
  struct State {
    // Remembers the call; the error it must fail with, if any.
    std::optional<Error> enter(FileCall kind, std::string text) {
      const std::lock_guard<std::mutex> lock(mutex);
      calls.push_back(std::move(text));
      std::optional<Error> own = count(faults[static_cast<std::size_t>(kind)]);
      std::optional<Error> any = count(faults[kFileCalls]);
      return own ? own : any;
    }
    // Describes a call as it is remembered: "write a" in the directory /run.
    Error named(const Error& error, const std::string& call) const {
      const std::size_t space = call.find(' ');
      const std::string_view name = std::string_view(call).substr(space + 1);
      const std::string path = name == "."             ? root
                               : name.starts_with('/') ? std::string(name)
                                                       : root + "/" + std::string(name);
      return Error(error.code(),
                   "cannot " + call.substr(0, space) + " '" + path + "': " + std::string(error.message()));
    }
    void check(FileCall kind, std::string text) {
      if (const std::optional<Error> error = enter(kind, std::move(text))) throw *error;
    }
    std::optional<Error> count(std::optional<Fault>& fault) const {
      if (!fault) return std::nullopt;
      if (fault->left > 1) {
        --fault->left;
        return std::nullopt;
      }
      const Error error = fault->names_call ? named(fault->error, calls.back()) : fault->error;
      if (fault->how_often == HowOften::kOnce) fault.reset();
      return error;
    }

    std::mutex mutex;
    std::array<std::optional<Fault>, kFileCalls + 1> faults;  // the last: of any kind
    std::vector<std::string> calls;
    std::optional<std::uint64_t> free_bytes;
    std::string root;  // the path of the directory that calls() names "."
  };

  class File;
  class Directory;

  FileSystem& files_;
  const std::shared_ptr<State> state_;  // files may outlive the file system
};

class FaultyFileSystem::File final : public OpenFile {
 public:
  File(std::unique_ptr<OpenFile> file, std::string name, std::shared_ptr<State> state)
      : file_(std::move(file)), name_(std::move(name)), state_(std::move(state)) {}

  const std::string& path() const override { return file_->path(); }
  void write(const void* data, std::size_t size) override {
    const std::optional<Error> error = state_->enter(FileCall::kWrite, "write " + name_);
    file_->write(data, error ? size / 2 : size);
    if (error) throw *error;
  }
  void write_at(std::uint64_t offset, const void* data, std::size_t size) override {
    const std::optional<Error> error = state_->enter(FileCall::kWrite, "write_at " + name_);
    file_->write_at(offset, data, error ? size / 2 : size);
    if (error) throw *error;
  }
  void read_at(std::uint64_t offset, void* data, std::size_t size) const override {
    state_->check(FileCall::kRead, "read " + name_);
    file_->read_at(offset, data, size);
  }
  std::uint64_t size() const override { return file_->size(); }
  void sync() override {
    state_->check(FileCall::kSync, "sync " + name_);
    file_->sync();
  }
  void close() override {
    const std::optional<Error> error = state_->enter(FileCall::kClose, "close " + name_);
    file_->close();
    if (error) throw *error;
  }

 private:
  const std::unique_ptr<OpenFile> file_;
  const std::string name_;
  const std::shared_ptr<State> state_;
};

class FaultyFileSystem::Directory final : public OpenDirectory {
 public:
  Directory(std::unique_ptr<OpenDirectory> directory, std::string name, std::shared_ptr<State> state)
      : directory_(std::move(directory)), name_(std::move(name)), state_(std::move(state)) {}

  const std::string& path() const override { return directory_->path(); }
  std::unique_ptr<OpenFile> create(std::string_view name) override {
    state_->check(FileCall::kCreate, "create " + inside(name));
    return file(directory_->create(name), name);
  }
  std::unique_ptr<OpenFile> open(std::string_view name) const override {
    state_->check(FileCall::kOpen, "open " + inside(name));
    return file(directory_->open(name), name);
  }
  bool exists(std::string_view name) const override { return directory_->exists(name); }
  FileStatus status(std::string_view name) const override { return directory_->status(name); }
  std::vector<std::string> entries() const override {
    state_->check(FileCall::kRead, "list " + name_);
    return directory_->entries();
  }
  std::unique_ptr<OpenDirectory> make_directory(std::string_view name) override {
    state_->check(FileCall::kMakeDirectory, "make_directory " + inside(name));
    return directory(directory_->make_directory(name), name);
  }
  std::unique_ptr<OpenDirectory> open_directory(std::string_view name) const override {
    state_->check(FileCall::kOpen, "open_directory " + inside(name));
    return directory(directory_->open_directory(name), name);
  }
  void rename(std::string_view from, std::string_view to) override {
    state_->check(FileCall::kRename, "rename " + inside(from) + " -> " + inside(to));
    directory_->rename(from, to);
  }
  void remove(std::string_view name) override {
    state_->check(FileCall::kRemove, "remove " + inside(name));
    directory_->remove(name);
  }
  void remove_tree(std::string_view name) override {
    state_->check(FileCall::kRemove, "remove_tree " + inside(name));
    directory_->remove_tree(name);
  }
  void sync() override {
    state_->check(FileCall::kSync, "sync " + name_);
    directory_->sync();
  }
  std::unique_ptr<OpenFile> try_lock(std::string_view name) override {
    state_->check(FileCall::kOpen, "lock " + inside(name));
    std::unique_ptr<OpenFile> lock = directory_->try_lock(name);
    return lock == nullptr ? nullptr : file(std::move(lock), name);
  }
  std::unique_ptr<PageFile> create_page(std::string_view name) override {
    state_->check(FileCall::kCreate, "create_page " + inside(name));
    return directory_->create_page(name);
  }
  bool locked(std::string_view name) const override { return directory_->locked(name); }

 private:
  std::string inside(std::string_view name) const {
    return name_ == "." ? std::string(name) : name_ + "/" + std::string(name);
  }
  std::unique_ptr<OpenFile> file(std::unique_ptr<OpenFile> opened, std::string_view name) const {
    return std::make_unique<File>(std::move(opened), inside(name), state_);
  }
  std::unique_ptr<OpenDirectory> directory(std::unique_ptr<OpenDirectory> opened, std::string_view name) const {
    return std::make_unique<Directory>(std::move(opened), inside(name), state_);
  }

  const std::unique_ptr<OpenDirectory> directory_;
  const std::string name_;  // relative to the first directory
  const std::shared_ptr<State> state_;
};

inline std::unique_ptr<OpenDirectory> FaultyFileSystem::open_directory(const std::string& path) {
  state_->root = path;
  state_->check(FileCall::kOpen, "open_directory .");
  return std::make_unique<Directory>(files_.open_directory(path), ".", state_);
}

inline std::unique_ptr<OpenDirectory> FaultyFileSystem::make_directories(const std::string& path) {
  state_->root = path;
  state_->check(FileCall::kMakeDirectory, "make_directory .");
  return std::make_unique<Directory>(files_.make_directories(path), ".", state_);
}

inline std::vector<std::string> FaultyFileSystem::calls_without_repeats() const {
  std::vector<std::string> out;
  for (std::string& call : calls()) {
    const bool transfer = call.starts_with("write ") || call.starts_with("read ");
    if (!transfer || out.empty() || out.back() != call) out.push_back(std::move(call));
  }
  return out;
}

}  // namespace belay::runtime
