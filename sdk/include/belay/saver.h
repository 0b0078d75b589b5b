// SPDX-License-Identifier: Apache-2.0
// A Saver is a codec: it writes named tensors into a directory that the host has opened, and reads them back. The host
// does the rest: names, checksums, fsync, rename, retention, and the choice of tensors.
//
//   void write(belay::Directory& directory, const belay::TensorSource& tensors) override {
//     belay::File file = directory.create("tensors.bin");
//     for (std::uint64_t i = 0; i < tensors.count(); ++i) {
//       const auto [name, value] = tensors.get(i);
//       write_header(file, name, value);
//       file.write(value.data(), value.bytes());
//     }
//     file.close();
//   }
//
// Directory, File, TensorSource and TensorSink are valid for the call that gets them. A failed call throws Error. The
// host has its own buffer for small writes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "belay/host.h"
#include "belay/tensor.h"

namespace belay {
inline namespace v0 {

// A file of that directory, open for writing or for reading. The destructor closes it and ignores errors, so call
// close() after writing.
class File {
 public:
  // For the SDK: Directory makes Files.
  File(const belay_files_api* api, belay_file* self) noexcept : api_(api), self_(self) {}
  File(File&& o) noexcept : api_(o.api_), self_(std::exchange(o.self_, nullptr)) {}
  File& operator=(File&&) = delete;
  ~File() {
    if (self_ == nullptr) return;
    detail::Status ignored;
    api_->close(self_, ignored);
  }
  // Appends `size` bytes, all of them. RESOURCE_EXHAUSTED: the disk is full. The caller may reuse `data` when it
  // returns.
  void write(const void* data, std::uint64_t size) {
    detail::Status status;
    status.check(api_->write(self_, data, size, status));
  }
  // Size of the file in bytes.
  std::uint64_t size() const {
    std::uint64_t n = 0;
    detail::Status status;
    status.check(api_->size(self_, &n, status));
    return n;
  }
  // Reads exactly `size` bytes at `offset`. DATA_LOSS: the file ends before.
  void read_at(std::uint64_t offset, void* data, std::uint64_t size) const {
    detail::Status status;
    status.check(api_->read_at(self_, offset, data, size, status));
  }
  // Closes the file. An error means that the file may be incomplete. Do not use the object after it.
  void close() {
    detail::Status status;
    status.check(api_->close(std::exchange(self_, nullptr), status));
  }

 private:
  const belay_files_api* api_;
  belay_file* self_;
};

// A directory that the host has opened. write may only create files, read may only open them.
class Directory {
 public:
  Directory(const belay_files_api* api, belay_dir* self) noexcept : api_(api), self_(self) {}
  // Makes a new file and opens it for writing. Names have no '/'. ALREADY_EXISTS: the file exists.
  File create(std::string_view name) const {
    belay_file* f = nullptr;
    detail::Status status;
    status.check(api_->create(self_, detail::str(name), &f, status));
    return File(api_, f);
  }
  // Opens a file for reading. NOT_FOUND: it does not exist.
  File open(std::string_view name) const {
    belay_file* f = nullptr;
    detail::Status status;
    status.check(api_->open(self_, detail::str(name), &f, status));
    return File(api_, f);
  }

 private:
  const belay_files_api* api_;
  belay_dir* self_;
};

// The tensors to write, in the order in which to write them.
class TensorSource {
 public:
  TensorSource(const belay_saver_service* api, belay_tensors* self) noexcept : api_(api), self_(self) {}
  // Number of tensors.
  std::uint64_t count() const { return api_->count(self_); }
  // Name and value of tensor i, i < count(). Both are views, valid until write returns. The value is read-only.
  std::pair<std::string_view, TensorView> get(std::uint64_t i) const {
    belay_str name{};
    belay_tensor t{};
    detail::Status status;
    status.check(api_->get(self_, i, &name, &t, status));
    return {detail::view(name), TensorView(t)};
  }

 private:
  const belay_saver_service* api_;
  belay_tensors* self_;
};

// Takes the tensors that read announces. found returns the memory to fill, row-major, or null if the host does not need
// the tensor.
//
// DType::kInvalid announces a tensor of a type that Belay does not have. The host lists it, and found throws
// UNIMPLEMENTED if it is wanted. No variable has strings, so the host lists a DType::kString tensor and does not want
// it. If a test wants one, the memory is an array of belay_str, one for each element. Their characters are the saver's,
// and must stay valid until the saver's next call.
class TensorSink {
 public:
  TensorSink(const belay_saver_service* api, belay_tensors* self) noexcept : api_(api), self_(self) {}
  void* found(std::string_view name, DType dtype, const Dims& dims) {
    void* data = nullptr;
    detail::Status status;
    status.check(api_->found(self_, detail::str(name), static_cast<std::int32_t>(dtype),
                             static_cast<std::int32_t>(dims.size()), dims.data(), &data, status));
    return data;
  }

 private:
  const belay_saver_service* api_;
  belay_tensors* self_;
};

// The base of plugins of the kind "saver". write and read never overlap on one instance; each may come on any thread.
class Saver : public Plugin {
 public:
  // Writes every tensor into at least one new file, and closes each file. The tensors are a snapshot: training
  // continues during the call. UNIMPLEMENTED, with the name: the format cannot hold a tensor. [save]
  virtual void write(Directory& directory, const TensorSource& tensors) = 0;
  // Announces every tensor in the directory, each once, and fills the memory that found returns. Do not trust a length
  // in a file: compare it with File::size(). DATA_LOSS, with the offset: a damaged file, or a file of another format.
  // [save]
  virtual void read(Directory& directory, TensorSink& tensors) = 0;
  // Makes a write or read that waits (for a lock, a remote disk) return soon with an error, because the run stops. The
  // call comes from another thread during a write or read, and must not wait. Few savers override it. [any]
  virtual void interrupt() {}
};

}  // namespace v0
}  // namespace belay
