// SPDX-License-Identifier: Apache-2.0
#include "runtime/manifest/diagnostics.h"

#include <fmt/core.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "runtime/platform/text/coded_message.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

constexpr std::size_t kMaxKept = 1000;            // problems
constexpr std::size_t kMaxShown = 100;            // problems that are shown
constexpr std::size_t kMaxColumns = 120;          // of a source line
constexpr std::size_t kColumnsBefore = 60;        // of a longer line, before the caret
constexpr std::size_t kWindow = 4 * kMaxColumns;  // bytes that are read on either side of the caret
constexpr std::size_t kTabStop = 4;
constexpr std::size_t kMaxText = 500;  // columns of a message, a help or a file's name

bool ends_word(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == ',' || c == '=' || c == ']' || c == '}' || c == '#';
}

// Returns the bytes of the quoted string that `text` begins with, as far as it is on this line.
std::size_t quoted_size(std::string_view text) {
  const char quote = text[0];
  const bool multi_line = text.size() >= 3 && text[1] == quote && text[2] == quote;
  const std::string_view closing = multi_line ? text.substr(0, 3) : text.substr(0, 1);
  for (std::size_t i = closing.size(); i < text.size(); ++i) {
    if (quote == '"' && text[i] == '\\') {
      ++i;
    } else if (text.substr(i).starts_with(closing)) {
      return i + closing.size();
    }
  }
  return text.size();
}

// Returns the bytes of the list, table or header.
std::size_t bracketed_size(std::string_view text) {
  int depth = 0;
  std::size_t i = 0;
  while (i < text.size()) {
    const char c = text[i];
    if (c == '"' || c == '\'') {
      i += quoted_size(text.substr(i));
      continue;
    }
    if (c == '#') break;
    ++i;
    if (c == '[' || c == '{') ++depth;
    if ((c == ']' || c == '}') && --depth == 0) return i;
  }
  while (i > 0 && ends_word(text[i - 1])) --i;  // it continues in the next line
  return i;
}

// Returns the bytes of the key, value or header at the start of `text`, the rest of a line. `value`: a '=' comes before
// it.
std::size_t token_size(std::string_view text, bool value) {
  if (text.empty()) return 0;
  const char first = text[0];
  if (first == '"' || first == '\'') return quoted_size(text);
  if (first == '[' || first == '{') return bracketed_size(text);
  // A dot ends a part of a key, but not a number, a date or the file's name in --set input.train.path=a.csv.
  const bool dots = value || (first >= '0' && first <= '9') || first == '+' || first == '-';
  std::size_t i = 0;
  while (i < text.size() && !ends_word(text[i]) && (dots || text[i] != '.')) ++i;
  return i;
}

std::size_t skip_chars(std::string_view text, std::size_t count) {
  std::size_t at = 0;
  while (count-- > 0 && at < text.size()) at += first_char(text.substr(at)).size;
  return at;
}

// Returns the start of the character at or after byte `at`.
std::size_t char_start(std::string_view line, std::size_t at) {
  while (at < line.size() && (static_cast<unsigned char>(line[at]) & 0xc0) == 0x80) ++at;
  return std::min(at, line.size());
}

// Returns the number of characters of the token at this column, which counts from 1.
int token_length(std::string_view line, int column) {
  const std::size_t start = skip_chars(line, static_cast<std::size_t>(std::max(column, 1) - 1));
  const std::string_view rest = line.substr(start, char_start(line, start + kWindow) - start);
  const std::size_t last = line.substr(0, start).find_last_not_of(" \t");
  const bool value = last != line.npos && line[last] == '=';
  return static_cast<int>(char_count(rest.substr(0, token_size(rest, value))));
}

std::string shortened(std::string_view text) {
  const std::string shown = escaped(text.substr(0, char_start(text, 4 * kMaxText)));
  const std::string_view start = cut_to_width(shown, kMaxText);
  return start.size() == shown.size() ? shown : std::string(start) + "...";
}

// A line of the manifest, and the line below it that marks a part of it, for a terminal.
class MarkedLine {
 public:
  // `column` is in characters, from 1. It may be just after the line.
  MarkedLine(std::string_view line, int column, int length) {
    const std::size_t start = skip_chars(line, static_cast<std::size_t>(std::max(column, 1) - 1));
    const std::size_t first = start > kWindow ? char_start(line, start - kWindow) : 0;
    const std::string_view rest = line.substr(start, char_start(line, start + kWindow) - start);
    const std::size_t marked = skip_chars(rest, static_cast<std::size_t>(length));
    before_ = shown(line.substr(first, start - first), 0);
    marked_ = shown(rest.substr(0, marked), before_.size());
    after_ = shown(rest.substr(marked), before_.size() + marked_.size());
    cut();
  }

  std::string text() const {
    const std::size_t width = display_width(marked_);
    return "  " + before_ + marked_ + after_ + "\n  " + std::string(display_width(before_), ' ') + "^" +
           std::string(width > 1 ? width - 1 : 0, '~') + "\n";
  }

 private:
  static std::string shown(std::string_view part, std::size_t column) {
    std::string spaced;
    for (const char c : part) {
      spaced += c;
      if (c == '\t') spaced.back() = ' ';
      while (c == '\t' && (column + spaced.size()) % kTabStop != 0) spaced += ' ';
    }
    return escaped(spaced);
  }

  void cut() {
    if (display_width(before_) > kColumnsBefore && display_width(before_ + marked_ + after_) > kMaxColumns) {
      // If too much is cut, the remaining characters are still whole.
      const std::size_t columns = display_width(before_) - kColumnsBefore;
      before_ = "..." + before_.substr(cut_to_width(before_, columns).size());
    }
    std::size_t left = kMaxColumns - std::min(kMaxColumns, display_width(before_));
    if (display_width(marked_) > left) {
      marked_ = std::string(cut_to_width(marked_, left)) + "...";
      after_.clear();
      return;
    }
    left -= display_width(marked_);
    if (display_width(after_) > left) after_ = std::string(cut_to_width(after_, left)) + "...";
  }

  std::string before_, marked_, after_;
};

}  // namespace

std::string coded_message(const Diagnostic& problem) {
  return problem.code.empty() ? problem.message : "[" + problem.code + "] " + problem.message;
}

std::string_view Diagnostics::Source::line(int number) const {
  std::string_view rest = text;
  for (; number > 1; --number) {
    const std::size_t end = rest.find('\n');
    if (end == rest.npos) return {};
    rest.remove_prefix(end + 1);
  }
  rest = rest.substr(0, rest.find('\n'));
  if (rest.ends_with('\r')) rest.remove_suffix(1);
  return rest;
}

void Diagnostics::add_source(const std::string& file, std::string text) {
  if (text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);  // columns do not count the byte order mark
  sources_.insert_or_assign(file, Source{sources_.size() + 1, std::move(text)});
}

void Diagnostics::add(Location at, std::string message, std::string help, int length) {
  add(Diagnostic{std::move(at), std::move(message), std::move(help), length});
}

void Diagnostics::add(Diagnostic problem) {
  ++count_;
  if (found_.size() == kMaxKept) return;
  if (problem.code.empty()) {
    CodedMessage message = take_code(problem.message);
    problem.code = std::move(message.code);
    problem.message = std::move(message.text);
  }
  found_.push_back(std::move(problem));
}

std::optional<std::string_view> Diagnostics::line_of(const Diagnostic& problem) const {
  if (problem.at.column <= 0) return std::nullopt;
  if (problem.line) return *problem.line;
  const auto source = sources_.find(problem.at.file);
  if (source == sources_.end()) return std::nullopt;
  return source->second.line(std::max(problem.at.line, 1));
}

bool Diagnostics::full() const { return found_.size() == kMaxKept; }

bool Diagnostics::has(std::string_view code, const Location& at) const {
  return std::any_of(found_.begin(), found_.end(), [&](const Diagnostic& d) {
    return d.code == code && d.at.file == at.file && d.at.line == at.line && d.at.column == at.column;
  });
}

std::vector<Diagnostic> Diagnostics::sorted() const {
  std::vector<Diagnostic> all = found_;
  const auto place = [this](const Diagnostic& d) {
    const auto source = sources_.find(d.at.file);
    return std::tuple(source == sources_.end() ? 0 : source->second.order, d.at.line, d.at.column);
  };
  std::stable_sort(all.begin(), all.end(),
                   [&](const Diagnostic& a, const Diagnostic& b) { return place(a) < place(b); });
  for (Diagnostic& d : all)
    if (const auto line = line_of(d); line && d.length == 0) d.length = token_length(*line, d.at.column);
  return all;
}

std::string Diagnostics::text() const {
  std::string out;
  std::size_t shown = 0;
  for (const Diagnostic& d : sorted()) {
    if (shown++ == kMaxShown) {
      out += fmt::format("... and {} more\n", count_ - kMaxShown);
      break;
    }
    if (!d.at.file.empty()) out += shortened(d.at.file) + ":";
    if (d.at.line > 0) out += fmt::format("{}:{}:", d.at.line, d.at.column);
    if (!out.empty() && out.back() == ':') out += " ";
    out += (d.code.empty() ? "error: " : "error[" + d.code + "]: ") + shortened(d.message) + "\n";
    if (const auto line = line_of(d)) out += MarkedLine(*line, d.at.column, d.length).text();
    if (!d.help.empty()) out += "  help: " + shortened(d.help) + "\n";
  }
  return out;
}

}  // namespace belay::runtime
