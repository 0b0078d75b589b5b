// SPDX-License-Identifier: Apache-2.0
// A page of the documentation as the tests look at it: its headings, and the tables below each.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace belay::runtime {

using Row = std::vector<std::string>;  // cells without the spaces round them

struct PageSection {
  std::string heading;    // without the #s
  std::string text;       // all lines below it
  std::vector<Row> rows;  // of all its tables, without their heads
};

inline std::string read_source(const std::string& path) {
  std::ifstream file(BELAY_SOURCE_DIR "/" + path);
  EXPECT_TRUE(file) << path << " cannot be read";
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// "Suite.Name" of every test in the sources, those beside the plugins among them.
inline std::set<std::string> tests_of_the_sources() {
  std::set<std::string> found;
  for (const char* folder : {BELAY_SOURCE_DIR "/tests", BELAY_SOURCE_DIR "/plugins"})
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (entry.path().extension() != ".cc") continue;
      const std::string text = read_source(std::filesystem::relative(entry.path(), BELAY_SOURCE_DIR).string());
      for (std::size_t at = 0; (at = text.find("TEST", at)) != text.npos;) {
        at += 4;
        if (text.compare(at, 2, "_F") == 0 || text.compare(at, 2, "_P") == 0) at += 2;
        std::array<char, 256> suite{}, name{};
        if (std::sscanf(text.c_str() + at, "(%255[A-Za-z0-9_], %255[A-Za-z0-9_])", suite.data(), name.data()) == 2)
          found.insert(std::string(suite.data()) + "." + name.data());
      }
    }
  return found;
}

inline std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(' ');
  return first == text.npos ? "" : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

// "| a | b |"; "\|" is a bar inside a cell.
inline Row cells_of(const std::string& line) {
  Row cells;
  std::string cell;
  for (std::size_t i = 1; i < line.size(); ++i) {
    if (line[i] == '\\' && i + 1 < line.size() && line[i + 1] == '|') {
      cell += line[++i];
    } else if (line[i] == '|') {
      cells.push_back(trimmed(cell));
      cell.clear();
    } else {
      cell += line[i];
    }
  }
  return cells;
}

inline std::vector<PageSection> sections_of(const std::string& page) {
  std::vector<PageSection> sections;
  bool code = false;  // a line of code may begin with #, too
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("```", 0) == 0) code = !code;
    if (!code && line.rfind('#', 0) == 0) {
      sections.push_back({trimmed(line.substr(line.find_first_not_of('#'))), "", {}});
    } else if (!sections.empty()) {
      PageSection& section = sections.back();
      section.text += line + "\n";
      if (line.rfind("|---", 0) == 0) {
        section.rows.pop_back();  // the row above the line is the table's head
      } else if (line.rfind('|', 0) == 0) {
        section.rows.push_back(cells_of(line));
      }
    }
  }
  return sections;
}

// The fenced blocks of a language, in their order: "```cpp", with or without a file name after it.
inline std::vector<std::string> fenced_blocks(const std::string& page, const std::string& language) {
  std::vector<std::string> blocks;
  bool inside = false, wanted = false;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("```", 0) == 0) {
      inside = !inside;
      wanted = inside && line.substr(3, line.find(' ') - 3) == language;
      if (wanted) blocks.emplace_back();
    } else if (wanted) {
      blocks.back() += line + "\n";
    }
  }
  return blocks;
}

// Returns the lines between `// recipe: NAME` and `// end` in a source, moved to the left margin.
inline std::string recipe(const std::string& file, const std::string& name) {
  std::istringstream lines(read_source(file));
  std::string text;
  std::size_t margin = std::string::npos;
  for (std::string line; std::getline(lines, line);) {
    if (margin == std::string::npos) {
      if (trimmed(line) == "// recipe: " + name) margin = line.find('/');
      continue;
    }
    if (trimmed(line) == "// end") return text;
    text += (line.size() > margin ? line.substr(margin) : "") + "\n";
  }
  ADD_FAILURE() << "there is no recipe " << name << " in " << file;
  return text;
}

inline const PageSection* find_section(const std::vector<PageSection>& sections, const std::string& heading) {
  for (const PageSection& s : sections)
    if (s.heading == heading) return &s;
  return nullptr;
}

// Returns the text between the first two backticks.
inline std::string code_of(const std::string& cell) {
  const std::size_t begin = cell.find('`');
  if (begin == cell.npos) return "";
  return cell.substr(begin + 1, cell.find('`', begin + 1) - begin - 1);
}

inline std::vector<std::string> first_column(const std::vector<Row>& rows) {
  std::vector<std::string> names;
  for (const Row& row : rows) names.push_back(code_of(row.at(0)));
  return names;
}

// The indented block of `page` that has a line beginning with `first`, without the indentation; from that line on.
inline std::string code_block(const std::string& page, const std::string& first) {
  std::string block;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    const bool indented = line.rfind("    ", 0) == 0;
    if (block.empty() && line.rfind("    " + first, 0) != 0) continue;
    if (!indented && !line.empty()) break;
    block += (indented ? line.substr(4) : "") + "\n";
  }
  EXPECT_FALSE(block.empty()) << "no code begins with " << first;
  return block;
}

}  // namespace belay::runtime
