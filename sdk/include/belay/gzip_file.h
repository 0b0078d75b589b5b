// SPDX-License-Identifier: Apache-2.0
// A data file, plain or compressed with gzip, read from front to back. Its first two bytes, 1f 8b, decide which. It is
// for plugins that link zlib: this header includes zlib.h.
//
//   // Lines of "train.csv" or "train.csv.gz":
//   GzipFile file("path", options.path.string());
//   std::string lines;
//   char buffer[1 << 16];
//   while (const std::size_t got = file.read(buffer, sizeof(buffer))) {
//     lines.append(buffer, got);
//     lines.erase(0, parse_whole_lines(lines));                    // the rest is the beginning of a line
//   }
//
// Several gzip files in sequence are one content, as the format (RFC 1952) defines; checksums are verified. It cannot
// go back: to begin again make another object. Use it from one thread at a time.
//
// Errors name option, file and place:
//
//   [B3023] path: '/data/x.gz' is damaged after byte 81920 of its content: it was cut short; fetch it again  DATA_LOSS
//   [B3046] path: there is no file '/data/x.gx' (did you mean "x.gz"?)                                       NOT_FOUND
#pragma once

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "belay/data_file.h"

namespace belay {
inline namespace v0 {

// An open file. It holds one descriptor and a buffer of 64 KiB. An input that must go back, in seek, opens it again and
// skips:
//
//   file_.emplace("path", path_);
//   while (file_->position() < place) file_->read(buffer_, std::min(sizeof(buffer_), place - file_->position()));
//
// This unpacks everything before the place. Read shuffled data into memory once instead.
class GzipFile {
 public:
  // Opens the file and reads its first bytes. `option` is the manifest's option that named it, for messages. Errors are
  // those of data_file_size. RESOURCE_EXHAUSTED: it cannot be opened (too many open files), or there is not enough
  // memory.
  GzipFile(std::string_view option, const std::string& path)
      : prefix_(std::string(option) + ": '" + path + "' "), file_bytes_(data_file_size(option, path)) {
    fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd_ < 0) fail(Code::kResourceExhausted, "[B3049] " + prefix_ + "cannot be opened: " + std::strerror(errno));
    try {
      begin();
    } catch (...) {
      ::close(fd_);
      throw;
    }
  }
  GzipFile(const GzipFile&) = delete;
  GzipFile& operator=(const GzipFile&) = delete;
  ~GzipFile() {
    if (compressed_) inflateEnd(&stream_);
    ::close(fd_);
  }

  // True if the content is gzip; the file's name has no effect.
  bool compressed() const noexcept { return compressed_; }
  // The size of the file when it was opened; the compressed size for gzip.
  std::uint64_t file_bytes() const noexcept { return file_bytes_; }
  // Number of bytes of the content (unpacked) that were read.
  std::uint64_t position() const noexcept { return position_; }

  // Fills `bytes` with the next bytes of the content and returns their number: `size`, fewer only at its end, then 0.
  // DATA_LOSS: the compressed data is damaged or cut short, other data follows it, or the disk fails. The object is
  // unusable after an error.
  std::size_t read(void* bytes, std::size_t size) {
    auto* at = static_cast<Bytef*>(bytes);
    std::size_t done = 0;
    while (done < size) {
      const std::size_t part = std::min(size - done, kMostAtOnce);
      const std::size_t got = compressed_ ? inflate_some(at + done, part) : copy_some(at + done, part);
      if (got == 0) break;
      done += got;
      position_ += got;
    }
    return done;
  }

 private:
  // Largest number of compressed bytes per read, and of bytes per call of zlib, which counts in 32 bits.
  static constexpr std::size_t kBuffer = 1 << 16, kMostAtOnce = std::size_t{1} << 30;

  // Reads the first bytes and decides by them. Unpacking needs zlib's state, about 40 KiB more.
  void begin() {
    buffer_.resize(static_cast<std::size_t>(std::clamp<std::uint64_t>(file_bytes_, 2, kBuffer)));
    refill();
    if (stream_.avail_in == 1) more();
    if (stream_.avail_in < 2 || stream_.next_in[0] != 0x1f || stream_.next_in[1] != 0x8b) return;
    constexpr int kGzipOnly = 15 + 16;
    if (inflateInit2(&stream_, kGzipOnly) != Z_OK)
      fail(Code::kResourceExhausted, "[B3035] " + prefix_ + "cannot be unpacked: no memory");
    compressed_ = true;
  }

  // Reads up to `size` bytes of the file unchanged; 0 at its end. It repeats a read that a signal interrupted.
  std::size_t read_file(void* bytes, std::size_t size) {
    ssize_t got = 0;
    do got = ::read(fd_, bytes, size);
    while (got < 0 && errno == EINTR);
    if (got < 0)
      fail(Code::kDataLoss, "[B3023] " + prefix_ + "cannot be read after byte " + std::to_string(position_) +
                                " of its content: " + std::strerror(errno));
    return static_cast<std::size_t>(got);
  }
  // Reads the next bytes into the buffer. False: the end of the file.
  bool refill() {
    stream_.next_in = buffer_.data();
    stream_.avail_in = static_cast<uInt>(read_file(buffer_.data(), buffer_.size()));
    return stream_.avail_in > 0;
  }
  // Reads one more byte. A file system may return bytes one by one, and the format needs the first two.
  void more() { stream_.avail_in += static_cast<uInt>(read_file(buffer_.data() + stream_.avail_in, 1)); }

  // For a plain file: copies the rest of the first buffer, then reads the file directly into the caller's memory.
  std::size_t copy_some(Bytef* out, std::size_t size) {
    if (stream_.avail_in == 0) return read_file(out, size);
    const std::size_t n = std::min<std::size_t>(stream_.avail_in, size);
    std::memcpy(out, stream_.next_in, n);
    stream_.next_in += n;
    stream_.avail_in -= static_cast<uInt>(n);
    return n;
  }

  // Unpacks at least one byte, unless the content ends. between_ distinguishes an end after a whole gzip member from a
  // file that is cut short.
  std::size_t inflate_some(Bytef* out, std::size_t size) {
    stream_.next_out = out;
    stream_.avail_out = static_cast<uInt>(size);
    while (stream_.avail_out == size) {
      const bool more_input = stream_.avail_in > 0 || refill();
      if (!more_input && between_) return 0;
      if (!more_input) damaged("it was cut short");
      const int result = inflate(&stream_, Z_NO_FLUSH);
      if (result == Z_STREAM_END) {
        inflateReset(&stream_);
        between_ = true;
        continue;
      }
      if (result != Z_OK && result != Z_BUF_ERROR)
        damaged(between_                 ? "other data follows the compressed data"
                : stream_.msg == nullptr ? "no memory"
                                         : stream_.msg,
                size - stream_.avail_out);
      between_ = false;
    }
    return size - stream_.avail_out;
  }
  // Throws DATA_LOSS. The place counts bytes of the content, not of the file, so a reader of the unpacked file can find
  // it. `unpacked`: bytes after position_ that were unpacked before the damage.
  [[noreturn]] void damaged(const std::string& why, std::size_t unpacked = 0) const {
    fail(Code::kDataLoss, "[B3023] " + prefix_ + "is damaged after byte " + std::to_string(position_ + unpacked) +
                              " of its content: " + why + "; fetch it again");
  }

  // For messages: "path: '/data/x.gz' ".
  std::string prefix_;
  std::uint64_t file_bytes_;
  std::uint64_t position_ = 0;
  int fd_ = -1;
  // True if stream_ is zlib's and must be ended.
  bool compressed_ = false;
  bool between_ = false;  // one gzip member has ended and no other has begun
  std::vector<Bytef> buffer_;
  // next_in and avail_in are the rest of buffer_, also for a plain file.
  z_stream stream_{};
};

}  // namespace v0
}  // namespace belay
