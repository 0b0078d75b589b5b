// SPDX-License-Identifier: Apache-2.0
#include "vector_file.h"

#include <belay/error.h>
#include <belay/file_kind.h>
#include <belay/mapped_file.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <system_error>
#include <unordered_set>
#include <utility>

namespace embedding_file {
namespace {

using belay::Code;
using belay::fail;

using RowOf = std::function<float*(std::string_view token)>;

// Reads a number from the file's first line.
bool take_count(std::string_view& text, std::int64_t& count) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || count < 0) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return text.empty() || text.front() == ' ';
}

// Parses "400000 50".
bool is_first_line(std::string_view line, std::int64_t& tokens, std::int64_t& width) {
  while (!line.empty() && (line.back() == ' ' || line.back() == '\r')) line.remove_suffix(1);
  return take_count(line, tokens) && take_count(line, width) && line.empty();
}

bool parse_number(std::string_view text, float& number) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  number = static_cast<float>(value);
  return error == std::errc() && end == text.data() + text.size() && std::isfinite(number);
}

std::string shown(std::string_view text) {
  constexpr std::size_t kMost = 40;
  return "\"" + std::string(text.substr(0, kMost)) + (text.size() > kMost ? "..." : "") + "\"";
}

class VectorReader {
 public:
  VectorReader(const std::string& path, std::int64_t width, const RowOf& row)
      : file_("path", path), prefix_("path: '" + path + "' "), rest_(file_.bytes()), width_(width), row_(row) {
    if (rest_.empty()) fail(Code::kFailedPrecondition, prefix_ + "is empty");
    if (rest_.substr(0, 2) == "\x1f\x8b" || rest_.substr(0, 4) == "PK\3\4")
      fail(Code::kInvalidArgument, prefix_ + "is compressed; unpack it, and give the file that is in it");
    const bool is_text = rest_.front() > ' ' && rest_.front() != '<';
    if (const std::string kind = belay::foreign_text(rest_, "file of word vectors", "write them as text", "");
        !is_text && !kind.empty())
      fail(Code::kInvalidArgument, prefix_ + kind);
  }

  VectorCounts read(VectorFormat format) {
    if (format != VectorFormat::kGlove) read_first_line();
    binary_ = format == VectorFormat::kWord2vecBinary;
    if (binary_) {
      read_binary();
    } else {
      while (!rest_.empty()) read_line();
      check_count();
    }
    return std::move(counts_);
  }

 private:
  std::string line_text() const { return prefix_ + "line " + std::to_string(line_) + " "; }

  std::string_view take_line() {
    // In a hole, or in a file of another kind, the end of the line may be terabytes away.
    const std::size_t longest = std::max<std::size_t>(1 << 20, 64 * static_cast<std::size_t>(width_));
    const std::size_t end = rest_.substr(0, longest).find('\n');
    if (end == std::string_view::npos && rest_.size() > longest)
      fail(Code::kDataLoss, prefix_ + "line " + std::to_string(line_ + 1) + " is longer than " +
                                std::to_string(longest) +
                                " bytes: this is no file of word vectors, or it is damaged; fetch it again");
    std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    ++line_;
    while (!line.empty() && (line.back() == ' ' || line.back() == '\r')) line.remove_suffix(1);
    return line;
  }

  void need_width(std::int64_t found) const {
    if (found != width_)
      fail(Code::kInvalidArgument, prefix_ + "has vectors of " + std::to_string(found) +
                                       " numbers, the rows of the variable have " + std::to_string(width_) +
                                       "; give a file of that width, or the model another one");
  }

  void read_first_line() {
    std::int64_t width = 0;
    const std::string_view line = take_line();
    if (!is_first_line(line, promised_, width))
      fail(Code::kInvalidArgument, line_text() + "is " + shown(line) +
                                       ", not the number of tokens and of their numbers; is the format \"glove\"?");
    need_width(width);
  }

  void check_count() const {
    if (promised_ < 0 || counts_.tokens == promised_) return;
    fail(Code::kDataLoss, prefix_ + "has " + std::to_string(counts_.tokens) + " tokens, but its first line promises " +
                              std::to_string(promised_) + "; it was cut short or changed, fetch it again");
  }

  // Returns the place for the numbers, once for each token.
  float* wanted(std::string_view token) {
    float* row = row_(token);
    if (row == nullptr || seen_.insert(token).second) return row;
    if (counts_.repeated++ == 0) counts_.first_repeated = shown(token) + " at " + place();
    return nullptr;
  }
  // Returns the place of the current token.
  std::string place() const {
    if (!binary_) return "line " + std::to_string(line_);
    return "token " + std::to_string(counts_.tokens + 1) + " (byte " + std::to_string(token_at_) + ")";
  }

  // ---- text

  void read_line() {
    const std::string_view line = take_line();
    if (line_ == 1) look_at_first(line);
    // The last numbers are the vector, since a token may have spaces.
    std::size_t begin = line.size();
    std::int64_t found = 0;
    for (; found < width_; ++found) {
      const std::size_t space = begin == 0 ? std::string_view::npos : line.rfind(' ', begin - 1);
      if (space == std::string_view::npos || space == 0) break;
      begin = space;
    }
    if (found < width_)
      fail(Code::kDataLoss, line_text() + "has " + std::to_string(found) + " of the " + std::to_string(width_) +
                                " numbers that belong after a token: " + shown(line));
    const std::string_view token = line.substr(0, begin);
    float number = 0;
    const std::size_t last = token.rfind(' ');
    if (last != std::string_view::npos && parse_number(token.substr(last + 1), number))
      fail(Code::kDataLoss,
           line_text() + "has more than " + std::to_string(width_) + " numbers after its token: " + shown(line));
    if (float* row = wanted(token)) read_numbers(line.substr(begin + 1), row);
    ++counts_.tokens;
  }

  // In a GloVe file only the first line shows the width.
  void look_at_first(std::string_view line) const {
    std::int64_t tokens = 0, width = 0;
    if (width_ != 1 && is_first_line(line, tokens, width))
      fail(Code::kInvalidArgument,
           line_text() + "is " + shown(line) + ", as word2vec's files begin; set format = \"word2vec_text\"");
    need_width(static_cast<std::int64_t>(std::count(line.begin(), line.end(), ' ')));
  }

  void read_numbers(std::string_view text, float* row) const {
    for (std::int64_t i = 0; i < width_; ++i) {
      const std::size_t space = text.find(' ');
      if (!parse_number(text.substr(0, space), row[i]))
        fail(Code::kDataLoss, line_text() + "has " + shown(text.substr(0, space)) + " as number " +
                                  std::to_string(i + 1) + ", which is no finite number");
      text.remove_prefix(space == std::string_view::npos ? text.size() : space + 1);
    }
  }

  // ---- binary

  void read_binary() {
    constexpr std::size_t kLongest = 4096;
    const std::size_t bytes = static_cast<std::size_t>(width_) * sizeof(float);
    while (counts_.tokens < promised_) {
      while (!rest_.empty() && rest_.front() == '\n') rest_.remove_prefix(1);
      token_at_ = file_.bytes().size() - rest_.size();
      const std::size_t space = rest_.substr(0, kLongest).find(' ');
      if (space == std::string_view::npos || rest_.size() - space - 1 < bytes)
        fail(Code::kDataLoss, prefix_ + "is damaged or cut short at " + place() + " of " + std::to_string(promised_) +
                                  "; fetch it again, or is the format \"word2vec_text\"?");
      const std::string_view token = rest_.substr(0, space);
      rest_.remove_prefix(space + 1);
      if (float* row = wanted(token)) take_numbers(token, row);
      rest_.remove_prefix(bytes);
      ++counts_.tokens;
    }
    while (!rest_.empty() && rest_.front() == '\n') rest_.remove_prefix(1);
    if (!rest_.empty())
      fail(Code::kDataLoss, prefix_ + "has " + std::to_string(rest_.size()) + " more bytes after its " +
                                std::to_string(promised_) + " tokens; it was damaged or changed, fetch it again");
  }

  void take_numbers(std::string_view token, float* row) const {
    std::memcpy(row, rest_.data(), static_cast<std::size_t>(width_) * sizeof(float));
    for (std::int64_t i = 0; i < width_; ++i)
      if (!std::isfinite(row[i]))
        fail(Code::kDataLoss, prefix_ + "is damaged at " + place() + ", " + shown(token) + ": number " +
                                  std::to_string(i + 1) + " is not finite; fetch it again");
  }

  belay::MappedFile file_;
  const std::string prefix_;
  std::string_view rest_;
  const std::int64_t width_;
  const RowOf& row_;
  bool binary_ = false;
  std::int64_t line_ = 0;
  std::size_t token_at_ = 0;    // byte of the token, in a binary file
  std::int64_t promised_ = -1;  // number of tokens, by the first line; -1: there is no such line
  VectorCounts counts_;
  std::unordered_set<std::string_view> seen_;  // tokens that were wanted
};

}  // namespace

VectorCounts read_vectors(const std::string& path, VectorFormat format, std::int64_t width, const RowOf& row) {
  return VectorReader(path, width, row).read(format);
}

}  // namespace embedding_file
