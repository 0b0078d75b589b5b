// SPDX-License-Identifier: Apache-2.0
// A file in the run directory that grows with the training, so that no step is in it twice: its length is part of the
// hook's state, and a resumed run cuts off what the run before it wrote behind its last checkpoint.
//
//   belay::GrowingFile file_{"my_hook", path};
//   void after_create_session(belay::Session&) override { file_.open(restored_bytes_); }
//   void after_run(...) override { ... file_.write(line), file_.flush(); ... }
//   void before_save(belay::Session&, std::int64_t) override { file_.sync(); }
//   void save_state(belay::StateWriter& s) const override { s.put("bytes", file_.is_open() ? file_.bytes() :
//   restored_bytes_); } void load_state(const belay::StateReader& s) override { restored_bytes_ = s.integer("bytes"); }
//
// Errors are FAILED_PRECONDITION with the file's name and what to do. A member of a hook, [session].
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "belay/error.h"
#include "belay/output_file.h"

namespace belay {
inline namespace v0 {

class GrowingFile {
 public:
  // `owner` begins the messages; `path` is absolute. Nothing is opened yet.
  GrowingFile(std::string owner, std::string path) : owner_(std::move(owner)), path_(std::move(path)) {}

  // Goes on behind the first `bytes`, which must be there; 0: a new, empty file.
  void open(std::int64_t bytes) {
    file_.reset();
    bytes_ = 0;
    file_ = open_output_file(path_, bytes != 0);
    if (!file_) fail_file(bytes == 0 ? "cannot be written" : "belongs to this run and cannot be opened");
    if (bytes == 0) return;
    struct stat info {};
    if (::fstat(::fileno(file_.get()), &info) != 0) fail_file("cannot be read");
    if (info.st_size < bytes)
      refuse("has lost lines: " + std::to_string(info.st_size) + " of " + std::to_string(bytes) +
             " bytes are left; move it away and run with --from-scratch, or remove the hook");
    bytes_ = bytes;
  }
  // Whether what open found begins with this text; before `cut`.
  bool begins_with(const std::string& text) const {
    std::string first(text.size(), '\0');
    return std::fread(first.data(), 1, first.size(), file_.get()) == first.size() && first == text;
  }
  // Cuts off what is behind the bytes that open was given. Before the first write.
  void cut() {
    if (::ftruncate(::fileno(file_.get()), bytes_) != 0 || std::fseek(file_.get(), 0, SEEK_END) != 0)
      fail_file("cannot be cut to the last checkpoint");
  }
  void write(std::string_view text) {
    if (std::fwrite(text.data(), 1, text.size(), file_.get()) != text.size()) fail_file("cannot be written");
    bytes_ += static_cast<std::int64_t>(text.size());
  }
  // For others to read.
  void flush() {
    if (std::fflush(file_.get()) != 0) fail_file("cannot be written");
  }
  // Onto the disk, so that a checkpoint never counts bytes that a crash loses.
  void sync() {
    if (std::fflush(file_.get()) != 0 || ::fdatasync(::fileno(file_.get())) != 0) fail_file("cannot be written");
  }
  bool is_open() const noexcept { return file_ != nullptr; }
  // That were written, by the runs before too.
  std::int64_t bytes() const noexcept { return bytes_; }
  // FAILED_PRECONDITION about the file: "my_hook: '/run/x.csv' " and the text.
  [[noreturn]] void refuse(const std::string& text) const {
    fail(Code::kFailedPrecondition, owner_ + ": '" + path_ + "' " + text);
  }

 private:
  [[noreturn]] void fail_file(const std::string& what) const {
    const int error = errno;
    if (error == ELOOP)
      refuse(
          "is a symbolic link, which is not followed: it could lead out of the run directory; remove it, or give "
          "another 'output_file'");
    refuse(what + ": " + std::strerror(error));
  }

  std::string owner_, path_;
  OutputFile file_;
  std::int64_t bytes_ = 0;
};

}  // namespace v0
}  // namespace belay
