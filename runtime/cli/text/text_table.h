// SPDX-License-Identifier: Apache-2.0
// Rows of text with their columns below each other, as wide as their widest cell. Cells are escaped.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace belay::runtime {

class TextTable {
 public:
  void add(std::vector<std::string> cells);
  bool empty() const noexcept { return rows_.empty(); }
  // Each row is a separate line after `indent`; two spaces between columns, none at the end.
  std::string text(const std::string& indent) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// "1 tensor", "2 tensors"
std::string count_text(std::uint64_t n, const std::string& what);
// "512 bytes", "1.2 MiB"
std::string bytes_text(std::uint64_t bytes);
// Returns "40 s", "3 min", "2 h", "5 d"; "0 s" for a time in the future.
std::string age_text(std::int64_t ns);

}  // namespace belay::runtime
