// SPDX-License-Identifier: Apache-2.0
// A file system in which another process is at work: before a file is opened for reading, the test may change what
// there is. The read-only part of the interface; what writes is an error of the test.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "belay/error.h"
#include "runtime/platform/files/file_system.h"

namespace belay::runtime::testing {

class MeddledFileSystem final : public FileSystem {
 public:
  explicit MeddledFileSystem(FileSystem& files) : files_(files) {}

  // Called with the path of each file that is opened; not while it is being called.
  std::function<void(const std::string& path)> before_open;

  std::unique_ptr<OpenDirectory> open_directory(const std::string& path) override {
    return std::make_unique<Directory>(files_.open_directory(path), *this);
  }
  std::unique_ptr<OpenDirectory> make_directories(const std::string&) override { refuse(); }
  bool exists(const std::string& path) const override { return files_.exists(path); }
  FileStatus status(const std::string& path) const override { return files_.status(path); }
  void rename(const std::string&, const std::string&) override { refuse(); }
  std::uint64_t free_bytes(const std::string& path) const override { return files_.free_bytes(path); }

 private:
  [[noreturn]] static void refuse() { fail(Code::kInternal, "it was to be read only"); }

  class Directory final : public OpenDirectory {
   public:
    Directory(std::unique_ptr<OpenDirectory> directory, MeddledFileSystem& of)
        : directory_(std::move(directory)), of_(of) {}
    const std::string& path() const override { return directory_->path(); }
    std::unique_ptr<OpenFile> open(std::string_view name) const override {
      if (const auto meddle = std::exchange(of_.before_open, nullptr)) {
        meddle(path() + "/" + std::string(name));
        if (!of_.before_open) of_.before_open = meddle;
      }
      return directory_->open(name);
    }
    bool exists(std::string_view name) const override { return directory_->exists(name); }
    FileStatus status(std::string_view name) const override { return directory_->status(name); }
    std::vector<std::string> entries() const override { return directory_->entries(); }
    std::unique_ptr<OpenDirectory> open_directory(std::string_view name) const override {
      return std::make_unique<Directory>(directory_->open_directory(name), of_);
    }
    bool locked(std::string_view name) const override { return directory_->locked(name); }
    std::unique_ptr<OpenFile> create(std::string_view) override { refuse(); }
    std::unique_ptr<OpenDirectory> make_directory(std::string_view) override { refuse(); }
    void rename(std::string_view, std::string_view) override { refuse(); }
    void remove(std::string_view) override { refuse(); }
    void remove_tree(std::string_view) override { refuse(); }
    void sync() override { refuse(); }
    std::unique_ptr<OpenFile> try_lock(std::string_view) override { refuse(); }
    std::unique_ptr<PageFile> create_page(std::string_view) override { refuse(); }

   private:
    const std::unique_ptr<OpenDirectory> directory_;
    MeddledFileSystem& of_;
  };

  FileSystem& files_;
};

}  // namespace belay::runtime::testing
