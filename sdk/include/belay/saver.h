// SPDX-License-Identifier: Apache-2.0
// A Saver is a codec: it writes named tensors into a directory that the host has opened, and reads them back. Naming,
// checksums, fsync, rename, retention and the choice of tensors are the host's.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "belay/host.h"
#include "belay/tensor.h"

namespace belay {
inline namespace v0 {

// A file of that directory. Closes when it dies; call close() after writing, since closing can fail.
class File {
 public:
  File(const belay_files_api* api, belay_file* self) noexcept : api_(api), self_(self) {}
  File(File&& o) noexcept : api_(o.api_), self_(std::exchange(o.self_, nullptr)) {}
  File& operator=(File&&) = delete;
  ~File() {
    if (self_ == nullptr) return;
    detail::Status ignored;
    api_->close(self_, ignored);
  }
  void write(const void* data, std::uint64_t size) {
    detail::Status status;
    status.check(api_->write(self_, data, size, status));
  }
  std::uint64_t size() const {
    std::uint64_t n = 0;
    detail::Status status;
    status.check(api_->size(self_, &n, status));
    return n;
  }
  // Exactly `size` bytes; DATA_LOSS where the file ends before.
  void read_at(std::uint64_t offset, void* data, std::uint64_t size) const {
    detail::Status status;
    status.check(api_->read_at(self_, offset, data, size, status));
  }
  void close() {
    detail::Status status;
    status.check(api_->close(std::exchange(self_, nullptr), status));
  }

 private:
  const belay_files_api* api_;
  belay_file* self_;
};

class Directory {
 public:
  Directory(const belay_files_api* api, belay_dir* self) noexcept : api_(api), self_(self) {}
  // Names without '/'. create: the file must not exist yet.
  File create(std::string_view name) const {
    belay_file* f = nullptr;
    detail::Status status;
    status.check(api_->create(self_, detail::str(name), &f, status));
    return File(api_, f);
  }
  // NOT_FOUND where it is absent.
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
  std::uint64_t count() const { return api_->count(self_); }
  // The view is valid for the write call.
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

// Takes the tensors that read announces. found returns the memory to fill, row-major, or null if the host does not want
// the tensor.
//
// DType::kInvalid is a tensor of a type that belay does not have: it is listed, and found throws UNIMPLEMENTED where it
// is wanted. No variable is of strings, so the host lists a DType::kString tensor and wants none; where there is memory
// for one, as in a test, it is an array of belay_str, one for each element. What they point at is the saver's, and
// stays valid until the saver's next call.
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

class Saver : public Plugin {
 public:
  virtual void write(Directory& directory, const TensorSource& tensors) = 0;
  // Announces every tensor that the directory holds, each once. A damaged or foreign file is DATA_LOSS, with the
  // offset.
  virtual void read(Directory& directory, TensorSink& tensors) = 0;
  // Makes a write or read that waits (for a lock, a remote disk) return soon, with an error, since the run is being
  // stopped. Called from another thread while one is inside; it must not wait. Few savers override it. [any]
  virtual void interrupt() {}
};

}  // namespace v0
}  // namespace belay
