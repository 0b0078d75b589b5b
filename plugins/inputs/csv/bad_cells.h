// SPDX-License-Identifier: Apache-2.0
// Collects the errors in cells of a file, for one message. Cells with the same fault, such as those of one column, are
// a group. The message names each cell of a small group. For a large group it names the first cell and the count.
#pragma once

#include <belay/csv/file.h>
#include <belay/error.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace csv_input {

using BadCell = belay::csv::RowFault;

// Returns a field for a message.
inline std::string shown(std::string_view text) {
  constexpr std::size_t kShown = 40;
  return '"' + std::string(text.substr(0, kShown)) + (text.size() <= kShown ? "" : "...") + '"';
}

class BadCells {
 public:
  // `cell` makes a BadCell. It is called only for cells that may be shown.
  template <class Cell>
  void add(const std::string& group, const Cell& cell) {
    const auto known = groups_.find(group);
    if (known == groups_.end() && groups_.size() == kShown) {
      more_ = true;
      return;
    }
    Group& g = known == groups_.end() ? groups_[group] : known->second;
    if (g.lines.size() < kEach) g.lines.push_back({next_++, cell()});
    ++g.count;
  }
  bool any() const { return !groups_.empty(); }
  std::int64_t count(const std::string& group) const {
    const auto found = groups_.find(group);
    return found == groups_.end() ? 0 : found->second.count;
  }
  bool has_many() const {
    return std::any_of(groups_.begin(), groups_.end(), [](const auto& g) { return g.second.count > kMostOfEach; });
  }
  void fail_if_any(const std::string& help = "") const {
    if (groups_.empty()) return;
    constexpr std::size_t kBytes = 3200;  // a plugin's message has at most 4096
    const std::map<int, BadCell> cells = cells_to_show();
    // The code of the first cell is that of the message. Cells with other codes have their own.
    const std::string& code = cells.begin()->second.code;
    std::string text;
    std::size_t shown = 0;
    for (const auto& [order, cell] : cells) {
      const std::string line = cell.place + ": " + (cell.code == code ? "" : "[" + cell.code + "] ") + cell.what;
      if (shown == kShown || (shown != 0 && text.size() + line.size() > kBytes)) break;
      text += (shown++ == 0 ? "" : "\n") + line;
    }
    const bool more = more_ || shown < cells.size();
    std::string last = help.size() < kHelpBytes ? help : "";
    if (more) last += (last.empty() ? "" : "; ") + ("there are more; these are the first " + std::to_string(shown));
    belay::fail(belay::Code::kDataLoss, "[" + code + "] " + (last.empty() ? text : text + "\n" + last));
  }

 private:
  static constexpr std::size_t kShown = 20, kEach = 3, kHelpBytes = 700;
  static constexpr std::int64_t kMostOfEach = kEach;
  struct Group {
    std::vector<std::pair<int, BadCell>> lines;
    std::int64_t count = 0;
  };
  // Returns the cells in the order in which they were found.
  std::map<int, BadCell> cells_to_show() const {
    std::map<int, BadCell> cells;
    for (const auto& [name, g] : groups_) {
      if (g.count <= kMostOfEach) {
        cells.insert(g.lines.begin(), g.lines.end());
        continue;
      }
      BadCell first = g.lines[0].second;
      first.what += "; " + std::to_string(g.count) + " rows are so";
      cells.emplace(g.lines[0].first, std::move(first));
    }
    return cells;
  }

  std::map<std::string, Group> groups_;
  int next_ = 0;
  bool more_ = false;
};

}  // namespace csv_input
