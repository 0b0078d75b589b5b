// SPDX-License-Identifier: Apache-2.0
// Reads the entries of a zip archive, stored or deflated, by libzip through the host's file.
#pragma once

#include <belay/saver.h>

#include <cstdint>
#include <memory>
#include <string>

struct zip;
struct zip_file;

namespace npz_saver {

class ZipReader {
 public:
  // `file` must outlive the object. DATA_LOSS: it is no zip archive.
  explicit ZipReader(const belay::File& file);
  ~ZipReader();

  std::uint64_t count() const;
  std::string name(std::uint64_t i) const;

  // An entry, which is read from its start.
  class Entry {
   public:
    Entry(ZipReader& reader, std::uint64_t i);
    // Number of unpacked bytes.
    std::uint64_t size() const { return size_; }
    // Reads exactly this number of bytes.
    void read(void* to, std::uint64_t size);
    // Call it after the last byte: libzip has then checked the checksum.
    void check_end();

   private:
    [[noreturn]] void damaged(const std::string& why);
    struct Close {
      void operator()(zip_file* file) const;
    };
    ZipReader& reader_;
    std::string name_;
    std::uint64_t size_ = 0;
    std::unique_ptr<zip_file, Close> file_;
  };

 private:
  struct Source;
  struct Discard {
    void operator()(zip* archive) const;
  };
  std::unique_ptr<Source> source_;
  std::unique_ptr<zip, Discard> archive_;
};

}  // namespace npz_saver
