// SPDX-License-Identifier: Apache-2.0
// A vocabulary: a text file with one token a line. The number of its line is the token's row in a table.
#pragma once

#include <belay/error.h>
#include <belay/mapped_file.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace init_fns {

// Its tokens are views of the file, valid as long as the object. Lines end in "\n" or "\r\n". Spaces belong to a token.
class TokenFile {
 public:
  // `option` named the file; errors are those of belay::data_file_size. DATA_LOSS names the line: it is empty, too
  // long, or has a repeated token. FAILED_PRECONDITION: the file has no token. `most` is the number of rows of the
  // table. At most most + 1 tokens are read, however long the file is.
  TokenFile(std::string_view option, const std::string& path, std::int64_t most)
      : prefix_(std::string(option) + ": '" + path + "'"), file_(option, path) {
    constexpr std::size_t kLongest = 1 << 16;
    std::string_view rest = file_.bytes();
    while (!rest.empty() && size() <= most) {
      const std::size_t end = rest.substr(0, kLongest).find('\n');
      if (end == std::string_view::npos && rest.size() > kLongest)
        belay::fail(belay::Code::kDataLoss, prefix_ + " line " + std::to_string(size() + 1) + " is longer than " +
                                                std::to_string(kLongest) +
                                                " bytes: this is no vocabulary, which has one token a line");
      std::string_view line = rest.substr(0, end);
      rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
      if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
      add(line);
    }
    if (tokens_.empty())
      belay::fail(belay::Code::kFailedPrecondition, prefix_ + " is empty; write one token a line into it");
  }

  std::int64_t size() const noexcept { return static_cast<std::int64_t>(tokens_.size()); }
  const std::vector<std::string_view>& tokens() const noexcept { return tokens_; }
  std::optional<std::int64_t> row_of(std::string_view token) const {
    const auto found = rows_.find(token);
    return found == rows_.end() ? std::nullopt : std::optional<std::int64_t>(found->second);
  }

 private:
  void add(std::string_view token) {
    const auto at = [&] { return prefix_ + " line " + std::to_string(tokens_.size() + 1) + " "; };
    if (token.empty())
      belay::fail(belay::Code::kDataLoss, at() + "is empty; each line is the token of one row, so write a name there");
    const auto [before, is_new] = rows_.emplace(token, size());
    if (!is_new)
      belay::fail(belay::Code::kDataLoss, at() + "is \"" + std::string(token) + "\", as line " +
                                              std::to_string(before->second + 1) + " is; take one of them out");
    tokens_.push_back(token);
  }

  const std::string prefix_;
  belay::MappedFile file_;
  std::vector<std::string_view> tokens_;
  std::unordered_map<std::string_view, std::int64_t> rows_;
};

}  // namespace init_fns
