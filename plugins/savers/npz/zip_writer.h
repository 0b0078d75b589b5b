// SPDX-License-Identifier: Apache-2.0
// Writes a zip archive from start to end, without a step back and without a copy of the content. libzip goes back to
// write lengths and checksums, and the host's files do not allow that. Entries are stored, not packed. Those of 4 GiB
// and more have zip64's longer fields, and so do those after them. There are no times, so the same content has the same
// bytes.
#pragma once

#include <belay/saver.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace npz_saver {

class ZipWriter {
 public:
  explicit ZipWriter(belay::File& file) : file_(file) {}

  // Writes one entry: `head`, then `size` bytes at `data`. The name is UTF-8 of at most 65,535 bytes.
  void add(std::string_view name, std::string_view head, const void* data, std::uint64_t size);
  // Writes the directory. Nothing may be added after it.
  void finish();

 private:
  void write(std::string_view bytes);

  belay::File& file_;
  std::uint64_t at_ = 0;
  std::uint64_t entries_ = 0;
  std::string directory_;
};

}  // namespace npz_saver
