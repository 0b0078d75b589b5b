// SPDX-License-Identifier: Apache-2.0
// For error messages: the known name that the user probably meant.
//
//   fail(Code::kNotFound, "there is no column \"" + name + "\"" + did_you_mean(name, columns));
//   there is no column "lable" (did you mean "label"?)
//
//   name       candidates              nearest
//   lable      label, lambda           label          two neighbours swapped: 1 change
//   los        loss, cost              loss
//   x          y, z                    none           1 change, but nothing in common
//   colour     size                    none           too far
//   same       SAME                    SAME           the same but for upper and lower case
//
// Otherwise it compares bytes: upper and lower case differ. The functions keep no state and work on any thread. They
// are for errors, not for a step: every candidate of about the same length costs the product of both lengths.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace belay {
inline namespace v0 {

// Returns the number of changes that turn one name into the other. A change inserts, deletes or replaces a character,
// or swaps two neighbours (Damerau and Levenshtein's distance in the restricted form: no character changes twice).
// "lable" and "label": 1.
inline std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1),
      row(b.size() + 1);  // three rows of the usual table
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(last), last.swap(row);
  }
  return last[b.size()];
}

// True if two names are equal except for upper and lower case of a to z.
inline bool equal_but_for_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

// Returns the candidate that differs in case alone, else the candidate at the smallest edit distance. The distance is
// at most 3 and at most a third of the longer name; 1 is always allowed. Empty: no candidate is that near, or all share
// no character with it. Ties: the first. `candidates` is a range of strings or string views.
template <class Candidates>
std::string nearest(std::string_view name, const Candidates& candidates) {
  std::string best;
  std::size_t best_distance = ~std::size_t{0};
  for (const auto& candidate : candidates) {
    const std::string_view text(candidate);
    if (text != name && equal_but_for_case(name, text)) return std::string(text);
    const std::size_t longer = std::max(name.size(), text.size());
    const std::size_t allowed = std::max<std::size_t>(1, std::min<std::size_t>(3, longer / 3));
    if (longer - std::min(name.size(), text.size()) > allowed) continue;
    const std::size_t distance = edit_distance(name, text);
    if (distance <= allowed && distance < longer && distance < best_distance) best_distance = distance, best = text;
  }
  return best;
}

// Returns ` (did you mean "x"?)` to append to a message, or an empty string.
template <class Candidates>
std::string did_you_mean(std::string_view name, const Candidates& candidates) {
  const std::string near = nearest(name, candidates);
  return near.empty() ? std::string() : " (did you mean \"" + near + "\"?)";
}

}  // namespace v0
}  // namespace belay
