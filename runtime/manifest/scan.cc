// SPDX-License-Identifier: Apache-2.0
#include "runtime/manifest/scan.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

Location place_of(const ManifestSource& source, std::size_t at) {
  const std::string_view before = std::string_view(source.text).substr(0, at);
  Location place{source.file, 1, 1};
  std::size_t line_start = before.starts_with(kByteOrderMark) ? 3 : 0;
  for (std::size_t end = before.find('\n'); end != before.npos; end = before.find('\n', line_start)) {
    line_start = end + 1;
    ++place.line;
  }
  place.column += static_cast<int>(char_count(before.substr(std::min(line_start, at))));
  return place;
}

bool is_text(const ManifestSource& source, Diagnostics& problems) {
  std::string_view rest = source.text;
  while (!rest.empty()) {
    const Utf8Char c = first_char(rest);
    if (!c.valid || c.value == 0) {
      const std::size_t at = source.text.size() - rest.size();
      problems.add(place_of(source, at),
                   c.valid ? "[B1005] this is a NUL byte, and a manifest is text"
                           : fmt::format("[B1005] the byte {} is no UTF-8", escaped(rest.substr(0, 1))),
                   c.valid ? "take it out" : "save it as UTF-8", 1);
      return false;
    }
    rest.remove_prefix(c.size);
  }
  return true;
}

// Scans the source once and follows its depth. The root is level 0, and a key of n parts leads n levels down. A list's
// elements are one level below it.
class LevelScanner {
 public:
  LevelScanner(const ManifestSource& source, Diagnostics& problems)
      : source_(source), text_(source.text), problems_(problems), at_(text_.starts_with(kByteOrderMark) ? 3 : 0) {}

  bool run() {
    while (at_ < text_.size()) {
      if (!step(text_[at_])) return false;
    }
    return true;
  }

 private:
  bool step(char c) {
    switch (c) {
      case '#': at_ = std::min(text_.find('\n', at_), text_.size()); return true;
      case '"':
      case '\'':
        token();
        skip_string(c);
        return true;
      case '.': ++at_; return !in_key_ || add_part();
      case '=':
        ++at_;
        if (in_key_) value_level_ = base() + parts_;
        in_key_ = false;
        return value_level_ <= kMaxLevels || refuse_levels(token_);
      case '[':
      case '{': return open(c);
      case ']':
      case '}': close(); return true;
      case ',':
        ++at_;
        if (!open_.empty()) next_in(open_.back());
        return true;
      case '\n':
        ++at_;
        if (open_.empty()) start_key();
        return true;
      case ' ':
      case '\t':
      case '\r': ++at_; return true;
      default:
        token();
        ++at_;
        return true;
    }
  }

  struct Bracket {
    int level;  // of the list or table
    bool table;
  };

  int base() const { return open_.empty() ? header_level_ : open_.back().level; }

  void start_key() {
    in_key_ = true;
    parts_ = 1;
    token_ = text_.npos;
  }

  void next_in(const Bracket& bracket) {
    if (bracket.table) {
      start_key();
    } else {
      value_level_ = bracket.level + 1;
    }
  }

  // A key or value begins or continues here.
  void token() {
    if (token_ == text_.npos) token_ = at_;
  }

  bool add_part() {
    if (++parts_ <= kMaxKeyParts) return true;
    const std::size_t begin = std::min(token_, at_ - 1);
    problems_.add(place_of(source_, begin), fmt::format("[B1006] this key has more than {} parts", kMaxKeyParts),
                  "a.b.c has three; nothing in a manifest needs more than a few", 1);
    return false;
  }

  bool refuse_levels(std::size_t at) {
    problems_.add(place_of(source_, std::min(at, text_.size() - 1)),
                  fmt::format("[B1006] this has more than {} levels of tables and lists", kMaxLevels),
                  "write it with fewer levels", 1);
    return false;
  }

  bool open(char c) {
    const std::size_t at = at_++;
    if (open_.empty() && in_key_ && c == '[' && token_ == text_.npos) return header(at);
    const int level = value_level_;
    if (level >= kMaxLevels) return refuse_levels(at);
    open_.push_back({level, c == '{'});
    in_key_ = false;
    next_in(open_.back());
    return true;
  }

  // Scans [a.b] and [[a.b]].
  bool header(std::size_t at) {
    const bool list = at_ < text_.size() && text_[at_] == '[';
    if (list) ++at_;
    token_ = at;
    while (at_ < text_.size() && text_[at_] != ']' && text_[at_] != '\n' && text_[at_] != '#') {
      const char c = text_[at_];
      if (c == '"' || c == '\'') {
        skip_string(c);
      } else {
        ++at_;
        if (c == '.' && !add_part()) return false;
      }
    }
    header_level_ = parts_ + (list ? 1 : 0);
    value_level_ = header_level_;
    in_key_ = false;  // up to the next line
    return header_level_ <= kMaxLevels || refuse_levels(at);
  }

  void close() {
    ++at_;
    if (!open_.empty()) open_.pop_back();
    in_key_ = false;
  }

  // Moves to the end of the string that begins here. If it is not closed, it ends with its line for this scan: the
  // parser stops there.
  void skip_string(char quote) {
    const std::string_view rest = text_.substr(at_);
    const bool multi_line = rest.size() >= 3 && rest[1] == quote && rest[2] == quote;
    const std::string_view closing = rest.substr(0, multi_line ? 3 : 1);
    at_ += closing.size();
    while (at_ < text_.size()) {
      if (quote == '"' && text_[at_] == '\\') {
        at_ = std::min(at_ + 2, text_.size());
      } else if (text_.substr(at_).starts_with(closing)) {
        at_ += closing.size();
        // Up to two more quotes belong to the string.
        for (int i = 0; multi_line && i < 2 && at_ < text_.size() && text_[at_] == quote; ++i) ++at_;
        return;
      } else if (!multi_line && text_[at_] == '\n') {
        return;
      } else {
        ++at_;
      }
    }
  }

  const ManifestSource& source_;
  const std::string_view text_;
  Diagnostics& problems_;
  std::size_t at_;
  std::vector<Bracket> open_;
  int header_level_ = 0;
  int value_level_ = 0;  // level of the value that may come next
  int parts_ = 1;        // of the current key
  bool in_key_ = true;
  std::size_t token_ = std::string_view::npos;  // start of the key or value
};

}  // namespace

bool within_limits(const ManifestSource& source, Diagnostics& problems) {
  if (source.text.size() > kMaxManifestBytes) {
    problems.add({source.file, 0, 0}, "[B1002] this is larger than 1 MiB",
                 "keep data in files that the manifest names");
    return false;
  }
  return is_text(source, problems) && LevelScanner(source, problems).run();
}

}  // namespace belay::runtime
