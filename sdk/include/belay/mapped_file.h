// SPDX-License-Identifier: Apache-2.0
// A data file as memory, without reading it. The first touch of a page reads it from the disk, and the system may drop
// it again. Use it for files that may be larger than the memory.
//
//   void open(const belay::OpenArgs&) override { file_ = belay::MappedFile("features", options_.features.string()); }
//   bool next(belay::Batch& batch, belay::Position& position) override {
//     const std::string_view all = file_.bytes();
//     std::memcpy(batch.tensor(x_, {1, 784}).mutable_data(), all.data() + at_ * 784, 784);     // uint8
//     ...
//   }
//
// The bytes are valid as long as the object, on any thread. The file must not get shorter during that time: a touch of
// a removed part ends the process with SIGBUS. A file that a rename replaces is safe. First touches wait for the disk,
// so read in the order of the file if you can. To have all of it before the first step, copy it.
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

// A mapped file. It can be moved but not copied; a moved-from object has no bytes. It keeps no descriptor open.
class MappedFile {
 public:
  // Makes an object without bytes; assign a file to it in open.
  MappedFile() noexcept = default;
  // Maps the file. `option` named it in the manifest. Errors are those of data_file_size, and RESOURCE_EXHAUSTED: it
  // cannot be opened or mapped (too many open files, no address space). A file of size 0 is not an error.
  MappedFile(std::string_view option, const std::string& path)
      : size_(static_cast<std::size_t>(data_file_size(option, path))) {
    if (size_ == 0) return;  // mmap refuses size 0
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    void* data = fd < 0 ? MAP_FAILED : mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd, 0);
    const int error = errno;
    if (fd >= 0) ::close(fd);
    if (data == MAP_FAILED)
      fail(Code::kResourceExhausted,
           "[B3049] " + std::string(option) + ": '" + path + "' cannot be mapped into memory: " + std::strerror(error));
    data_ = static_cast<const char*>(data);
  }
  MappedFile(MappedFile&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  // Swaps: the other object unmaps the old bytes.
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

  // The whole file, read-only; it begins at the boundary of a page. The data is null if it is empty.
  std::string_view bytes() const noexcept { return {data_, size_}; }

 private:
  const char* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace v0
}  // namespace belay
