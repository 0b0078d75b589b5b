// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/prediction/prediction_output.h"

#include <fmt/core.h>

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "belay/error.h"
#include "runtime/checkpoint/format/names.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

class PredictionFile final : public PredictionOutput {
 public:
  PredictionFile(std::unique_ptr<OpenDirectory> directory, const std::string& name)
      : directory_(std::move(directory)), name_(name), temporary_(temporary_name(name)) {
    check_replaceable();
    file_ = directory_->create(temporary_);
    buffer_.reserve(kBuffer);
  }
  ~PredictionFile() override {
    if (renamed_) return;
    try {
      file_.reset();
      directory_->remove(temporary_);
    } catch (const Error&) {
      // The earlier failure is reported; this is the same directory.
    }
  }

  bool write(std::string_view bytes) override {
    if (buffer_.size() + bytes.size() > kBuffer) flush();
    if (bytes.size() > kBuffer) {
      file_->write(bytes.data(), bytes.size());
    } else {
      buffer_.append(bytes);
    }
    return true;
  }
  bool can_rewrite() const noexcept override { return true; }
  void write_at(std::uint64_t offset, std::string_view bytes) override {
    flush();
    file_->write_at(offset, bytes.data(), bytes.size());
  }
  bool finish() override {
    flush();
    file_->sync();
    file_->close();
    directory_->rename(temporary_, name_);
    renamed_ = true;
    directory_->sync();
    return true;
  }

 private:
  static constexpr std::size_t kBuffer = std::size_t{1} << 16;

  void check_replaceable() const {
    if (!directory_->exists(name_)) return;
    const FileKind kind = directory_->status(name_).kind;
    if (kind == FileKind::kFile) return;
    fail(Code::kFailedPrecondition,
         "[B5033] cannot write the predictions to " + single_quoted(directory_->path() + "/" + name_) + ": it is " +
             (kind == FileKind::kDirectory ? "a directory"
              : kind == FileKind::kSymlink ? "a symbolic link, which would be replaced"
                                           : "no regular file; write to stdout, and let the shell lead it there"));
  }
  void flush() {
    if (buffer_.empty()) return;
    file_->write(buffer_.data(), buffer_.size());
    buffer_.clear();
  }

  const std::unique_ptr<OpenDirectory> directory_;
  const std::string name_, temporary_;
  std::unique_ptr<OpenFile> file_;
  std::string buffer_;
  bool renamed_ = false;
};

class PredictionStream final : public PredictionOutput {
 public:
  PredictionStream(int descriptor, std::string name) : descriptor_(descriptor), name_(std::move(name)) {}

  bool write(std::string_view bytes) override {
    while (!gone_ && !bytes.empty()) {
      const ssize_t n = ::write(descriptor_, bytes.data(), bytes.size());
      if (n > 0) {
        bytes.remove_prefix(static_cast<std::size_t>(n));
      } else if (n < 0 && errno == EPIPE) {
        gone_ = true;
      } else if (n < 0 && errno == EAGAIN) {
        wait();
      } else if (n == 0 || errno != EINTR) {
        fail_write(n == 0 ? EIO : errno);
      }
    }
    return !gone_;
  }
  void write_at(std::uint64_t, std::string_view) override {
    fail(Code::kUnimplemented, fmt::format("[B5033] {} takes bytes in their order only", escaped(name_)));
  }
  bool is_terminal() const noexcept override { return ::isatty(descriptor_) == 1; }
  bool finish() override { return !gone_; }

 private:
  // A descriptor made non-blocking by another program.
  void wait() const {
    pollfd wanted{descriptor_, POLLOUT, 0};
    ::poll(&wanted, 1, -1);
  }
  [[noreturn]] void fail_write(int error) const {
    const bool full = error == ENOSPC || error == EDQUOT || error == EFBIG;
    const char* words = strerrordesc_np(error);
    fail(full           ? Code::kResourceExhausted
         : error == EIO ? Code::kDataLoss
                        : Code::kInternal,
         fmt::format("[B5033] cannot write the predictions to {}: {}", escaped(name_),
                     words == nullptr ? "error " + std::to_string(error) : words));
  }

  const int descriptor_;
  const std::string name_;
  bool gone_ = false;
};

}  // namespace

std::unique_ptr<PredictionOutput> prediction_file(FileSystem& files, const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string directory = slash == path.npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  return std::make_unique<PredictionFile>(files.open_directory(directory),
                                          slash == path.npos ? path : path.substr(slash + 1));
}

std::unique_ptr<PredictionOutput> prediction_stream(int descriptor, std::string name) {
  return std::make_unique<PredictionStream>(descriptor, std::move(name));
}

}  // namespace belay::runtime
