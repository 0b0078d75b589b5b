// SPDX-License-Identifier: Apache-2.0
#include "runtime/platform/files/watched_files.h"

#include <utility>

namespace belay::runtime {
namespace {

class CallOfDisk {
 public:
  explicit CallOfDisk(DiskCalls& calls) : calls_(calls) { calls_.begun.fetch_add(1); }
  ~CallOfDisk() { calls_.ended.fetch_add(1); }
  CallOfDisk(const CallOfDisk&) = delete;
  CallOfDisk& operator=(const CallOfDisk&) = delete;

 private:
  DiskCalls& calls_;
};

class WatchedFile final : public OpenFile {
 public:
  WatchedFile(std::unique_ptr<OpenFile> file, DiskCalls& calls) : file_(std::move(file)), calls_(calls) {}
  const std::string& path() const override { return file_->path(); }
  void write(const void* data, std::size_t size) override {
    const CallOfDisk call(calls_);
    file_->write(data, size);
  }
  void write_at(std::uint64_t offset, const void* data, std::size_t size) override {
    const CallOfDisk call(calls_);
    file_->write_at(offset, data, size);
  }
  void read_at(std::uint64_t offset, void* data, std::size_t size) const override {
    const CallOfDisk call(calls_);
    file_->read_at(offset, data, size);
  }
  std::uint64_t size() const override { return file_->size(); }
  void sync() override {
    const CallOfDisk call(calls_);
    file_->sync();
  }
  void close() override {
    const CallOfDisk call(calls_);
    file_->close();
  }

 private:
  std::unique_ptr<OpenFile> file_;
  DiskCalls& calls_;
};

class WatchedDirectory final : public OpenDirectory {
 public:
  WatchedDirectory(std::unique_ptr<OpenDirectory> directory, DiskCalls& calls)
      : directory_(std::move(directory)), calls_(calls) {}

  const std::string& path() const override { return directory_->path(); }
  std::unique_ptr<OpenFile> create(std::string_view name) override {
    const CallOfDisk call(calls_);
    return std::make_unique<WatchedFile>(directory_->create(name), calls_);
  }
  std::unique_ptr<OpenFile> open(std::string_view name) const override {
    const CallOfDisk call(calls_);
    return std::make_unique<WatchedFile>(directory_->open(name), calls_);
  }
  bool exists(std::string_view name) const override {
    const CallOfDisk call(calls_);
    return directory_->exists(name);
  }
  FileStatus status(std::string_view name) const override {
    const CallOfDisk call(calls_);
    return directory_->status(name);
  }
  std::vector<std::string> entries() const override {
    const CallOfDisk call(calls_);
    return directory_->entries();
  }
  std::unique_ptr<OpenDirectory> make_directory(std::string_view name) override {
    const CallOfDisk call(calls_);
    return std::make_unique<WatchedDirectory>(directory_->make_directory(name), calls_);
  }
  std::unique_ptr<OpenDirectory> open_directory(std::string_view name) const override {
    const CallOfDisk call(calls_);
    return std::make_unique<WatchedDirectory>(directory_->open_directory(name), calls_);
  }
  void rename(std::string_view from, std::string_view to) override {
    const CallOfDisk call(calls_);
    directory_->rename(from, to);
  }
  void remove(std::string_view name) override {
    const CallOfDisk call(calls_);
    directory_->remove(name);
  }
  void remove_tree(std::string_view name) override {
    const CallOfDisk call(calls_);
    directory_->remove_tree(name);
  }
  void sync() override {
    const CallOfDisk call(calls_);
    directory_->sync();
  }
  std::unique_ptr<OpenFile> try_lock(std::string_view name) override {
    const CallOfDisk call(calls_);
    std::unique_ptr<OpenFile> lock = directory_->try_lock(name);
    return lock == nullptr ? nullptr : std::make_unique<WatchedFile>(std::move(lock), calls_);
  }
  std::unique_ptr<PageFile> create_page(std::string_view name) override {
    const CallOfDisk call(calls_);
    return directory_->create_page(name);
  }
  bool locked(std::string_view name) const override {
    const CallOfDisk call(calls_);
    return directory_->locked(name);
  }

 private:
  std::unique_ptr<OpenDirectory> directory_;
  DiskCalls& calls_;
};

class WatchedFileSystem final : public FileSystem {
 public:
  WatchedFileSystem(FileSystem& files, DiskCalls& calls) : files_(files), calls_(calls) {}
  std::unique_ptr<OpenDirectory> open_directory(const std::string& path) override {
    const CallOfDisk call(calls_);
    return std::make_unique<WatchedDirectory>(files_.open_directory(path), calls_);
  }
  std::unique_ptr<OpenDirectory> make_directories(const std::string& path) override {
    const CallOfDisk call(calls_);
    return std::make_unique<WatchedDirectory>(files_.make_directories(path), calls_);
  }
  bool exists(const std::string& path) const override {
    const CallOfDisk call(calls_);
    return files_.exists(path);
  }
  FileStatus status(const std::string& path) const override {
    const CallOfDisk call(calls_);
    return files_.status(path);
  }
  void rename(const std::string& from, const std::string& to) override {
    const CallOfDisk call(calls_);
    files_.rename(from, to);
  }
  std::uint64_t free_bytes(const std::string& path) const override {
    const CallOfDisk call(calls_);
    return files_.free_bytes(path);
  }

 private:
  FileSystem& files_;
  DiskCalls& calls_;
};

}  // namespace

std::unique_ptr<FileSystem> watched_files(FileSystem& files, DiskCalls& calls) {
  return std::make_unique<WatchedFileSystem>(files, calls);
}

}  // namespace belay::runtime
