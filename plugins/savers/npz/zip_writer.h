// SPDX-License-Identifier: Apache-2.0
// Writes a zip archive from its start to its end, without a step back and without a copy of what it holds: libzip
// writes lengths and checksums where it has already been, which the host's files do not allow. Entries are stored, not
// packed; those of 4 GiB and more, and those behind them, have zip64's longer fields. No times: the same content is the
// same bytes.
#pragma once

#include <belay/saver.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace npz_saver {

class ZipWriter {
 public:
  explicit ZipWriter(belay::File& file) : file_(file) {}

  // One entry: `head`, and `size` bytes at `data` behind it. The name is UTF-8 of at most 65,535 bytes.
  void add(std::string_view name, std::string_view head, const void* data, std::uint64_t size);
  // The directory. Nothing may be added then.
  void finish();

 private:
  void write(std::string_view bytes);

  belay::File& file_;
  std::uint64_t at_ = 0;
  std::uint64_t entries_ = 0;
  std::string directory_;
};

}  // namespace npz_saver
