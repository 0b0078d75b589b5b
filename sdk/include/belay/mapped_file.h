// SPDX-License-Identifier: Apache-2.0
// A data file as memory, without reading it: pages come from the disk as they are touched, and may leave again. For
// files that may be larger than the memory.
//
//   void open(const belay::OpenArgs&) override { file_ = belay::MappedFile("features", options_.features.string()); }
//   bool next(belay::Batch& batch, belay::Position& position) override {
//     const std::string_view all = file_.bytes();
//     std::memcpy(batch.tensor(x_, {1, 784}).mutable_data(), all.data() + at_ * 784, 784);     // uint8
//     ...
//   }
//
// The bytes are valid as long as the object lives, on any thread. The file must not get shorter meanwhile: touching
// what was cut off ends the process with SIGBUS. One that is replaced by a rename does no harm. First touches wait for
// the disk, so read in the order of the file where you can; to have all of it before the first step, copy it.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "belay/data_file.h"

namespace belay {
inline namespace v0 {

// Moved, not copied; a moved-from one has no bytes. It keeps no descriptor open.
class MappedFile {
 public:
  // No bytes; assign a file to it in open.
  MappedFile() noexcept = default;
  // `option` named the file: errors as data_file_size has them, and RESOURCE_EXHAUSTED where it cannot be opened or
  // mapped (too many open files, no address space). A file of size 0 is no error.
  MappedFile(std::string_view option, const std::string& path)
      : size_(static_cast<std::size_t>(data_file_size(option, path))) {
    if (size_ == 0) return;  // which mmap refuses
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    void* data = fd < 0 ? MAP_FAILED : mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd, 0);
    const int error = errno;
    if (fd >= 0) ::close(fd);
    if (data == MAP_FAILED)
      fail(Code::kResourceExhausted,
           std::string(option) + ": '" + path + "' cannot be mapped into memory: " + std::strerror(error));
    data_ = static_cast<const char*>(data);
  }
  MappedFile(MappedFile&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  // Swaps: the old bytes are unmapped with the other object.
  MappedFile& operator=(MappedFile&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile() {
    if (data_ != nullptr) munmap(const_cast<char*>(data_), size_);
  }

  // The whole file, read-only; it begins at the boundary of a page. Null data where it is empty.
  std::string_view bytes() const noexcept { return {data_, size_}; }

 private:
  const char* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace v0
}  // namespace belay
