// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/problems/data_problem.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/platform/files/path_pattern.h"
#include "runtime/platform/text/coded_message.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

constexpr std::size_t kMaxLine = 1 << 16;     // bytes; the places in a longer line are not shown
constexpr std::string_view kNewline = "\\n";  // as a plugin's message has it, which is escaped

// Adds a path as it is, and the files of a pattern.
void add_files(const std::string& path, std::set<std::string>& paths) {
  paths.insert(path);
  for (const std::string& file : files_of_pattern(path)) paths.insert(file);
}

std::set<std::string> paths_of(const std::map<std::string, ResolvedPlugin>& inputs) {
  std::set<std::string> paths;
  for (const auto& [section, input] : inputs) {
    for (std::uint64_t i = 0; i < input.options.size(); ++i) {
      const belay_named_value& given = input.options.data()[i];
      const OptionInfo* option = input.info.option(std::string(given.name.data, given.name.size));
      if (option == nullptr || option->type != OptionType::kPath) continue;
      const OptionValue value = option_value(given.value);
      if (const auto* path = std::get_if<std::string>(&value)) add_files(*path, paths);
      if (const auto* list = std::get_if<std::vector<std::string>>(&value))
        for (const std::string& path : *list) add_files(path, paths);
    }
  }
  return paths;
}

// Takes "17:" from the front of `text`.
std::optional<int> take_number(std::string_view& text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto size = static_cast<std::size_t>(end - text.data());
  if (error != std::errc() || number < 1 || size == text.size() || *end != ':') return std::nullopt;
  text.remove_prefix(size + 1);
  return number;
}

struct Place {
  Location at;
  std::size_t begin = 0, end = 0;  // of "PATH:17:4: " in the message
};

// Finds the places of one file.
void find_places(std::string_view message, const std::string& path, std::vector<Place>& places) {
  const std::string name = escaped(path) + ":";
  for (std::size_t at = message.find(name); at != message.npos; at = message.find(name, at + 1)) {
    const std::string_view before = message.substr(0, at);
    if (!before.empty() && !before.ends_with(' ') && !before.ends_with(kNewline)) continue;  // a part of another path
    std::string_view rest = message.substr(at + name.size());
    const std::optional<int> line = take_number(rest);
    const std::optional<int> column = line ? take_number(rest) : std::nullopt;
    if (!column || !rest.starts_with(' ')) continue;
    places.push_back({{path, *line, *column}, at, message.size() - rest.size() + 1});
  }
}

std::optional<std::string> line_of(const std::string& path, int number) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  std::string line;
  std::vector<char> block(kMaxLine);
  int at = 1;
  for (bool first = true; at <= number && file; first = false) {
    file.read(block.data(), static_cast<std::streamsize>(block.size()));
    std::string_view rest(block.data(), static_cast<std::size_t>(file.gcount()));
    if (first && rest.starts_with("\x1f\x8b")) return std::nullopt;
    if (first && rest.starts_with("\xef\xbb\xbf")) rest.remove_prefix(3);
    while (at <= number && !rest.empty()) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      if (at == number) line += rest.substr(0, end);
      if (line.size() > kMaxLine) return std::nullopt;
      if (end < rest.size()) ++at;
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  if (at < number) return std::nullopt;
  if (line.ends_with('\r')) line.pop_back();
  return line;
}

// The number of characters of the field at this column. Any delimiter ends it.
int field_length(const std::string& line, int column) {
  std::size_t begin = 0;
  for (; column > 1 && begin < line.size(); --column) begin += first_char(std::string_view(line).substr(begin)).size;
  const std::string_view rest = std::string_view(line).substr(begin);
  const std::size_t end = rest.starts_with('"') ? std::min(rest.find('"', 1), rest.size() - 1) + 1
                                                : std::min(rest.find_first_of(" \t,;|"), rest.size());
  return static_cast<int>(char_count(rest.substr(0, end)));
}

}  // namespace

bool add_data_problems(const std::map<std::string, ResolvedPlugin>& inputs, const Error& error, Diagnostics& problems) {
  const std::string_view message = error.message();
  std::vector<Place> places;
  for (const std::string& path : paths_of(inputs)) find_places(message, path, places);
  std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) { return a.begin < b.begin; });
  const std::string code = take_code(message).code;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::size_t end = i + 1 < places.size() ? places[i + 1].begin : message.size();
    std::string_view said = message.substr(places[i].end, end - places[i].end);
    if (said.ends_with(kNewline)) said.remove_suffix(kNewline.size());
    Diagnostic problem{places[i].at, std::string(said), ""};
    if (take_code(said).code.empty()) problem.code = code;
    // The text after the last place is about all of them.
    if (const std::size_t more = said.find(kNewline); more != said.npos) {
      problem.message.resize(more);
      problem.help = said.substr(more + kNewline.size());
    }
    problem.line = line_of(problem.at.file, problem.at.line);
    if (problem.line) problem.length = field_length(*problem.line, problem.at.column);
    problems.add(std::move(problem));
  }
  return !places.empty();
}

}  // namespace belay::runtime
