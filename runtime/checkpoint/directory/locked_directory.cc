// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/directory/locked_directory.h"

#include <utility>

#include "runtime/platform/text/text.h"

namespace belay::runtime {

// Checks the lock before each write.
class LockedDirectory::File final : public OpenFile {
 public:
  File(std::unique_ptr<OpenFile> file, const LockedDirectory& directory)
      : file_(std::move(file)), directory_(directory) {}
  const std::string& path() const override { return file_->path(); }
  void write(const void* data, std::size_t size) override {
    directory_.check_lock();
    file_->write(data, size);
  }
  void write_at(std::uint64_t offset, const void* data, std::size_t size) override {
    directory_.check_lock();
    file_->write_at(offset, data, size);
  }
  void read_at(std::uint64_t offset, void* data, std::size_t size) const override {
    file_->read_at(offset, data, size);
  }
  std::uint64_t size() const override { return file_->size(); }
  void sync() override { file_->sync(); }
  void close() override { file_->close(); }

 private:
  const std::unique_ptr<OpenFile> file_;
  const LockedDirectory& directory_;
};

void LockedDirectory::check_lock() const {
  if (!lost_ && lock_.in_place(*directory_)) return;
  lost_ = true;
  throw RunInUse(Code::kFailedPrecondition,
                 "[B5112] the run directory " + single_quoted(path()) +
                     " is no longer this run's: its file 'lock' was removed or replaced, so another run may be in it; "
                     "this run ends and writes nothing more (a lock ends with its process: it need not be removed)");
}

std::unique_ptr<OpenFile> LockedDirectory::create(std::string_view name) {
  check_lock();
  return std::make_unique<File>(directory_->create(name), *this);
}

std::unique_ptr<PageFile> LockedDirectory::create_page(std::string_view name) {
  check_lock();
  return directory_->create_page(name);
}

std::unique_ptr<OpenDirectory> LockedDirectory::make_directory(std::string_view name) {
  check_lock();
  return directory_->make_directory(name);
}

void LockedDirectory::rename(std::string_view from, std::string_view to) {
  check_lock();
  directory_->rename(from, to);
}

void LockedDirectory::remove(std::string_view name) {
  check_lock();
  directory_->remove(name);
}

void LockedDirectory::remove_tree(std::string_view name) {
  check_lock();
  directory_->remove_tree(name);
}

}  // namespace belay::runtime
