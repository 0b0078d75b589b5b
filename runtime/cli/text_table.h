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
  // Each row on a line of its own behind `indent`; two spaces between columns, none at the end.
  std::string text(const std::string& indent) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// "512 bytes", "1.2 MiB"
std::string bytes_text(std::uint64_t bytes);

}  // namespace belay::runtime
