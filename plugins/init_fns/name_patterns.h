// SPDX-License-Identifier: Apache-2.0
// Which variables an init function is for: the regular expressions of one of its options.
#pragma once

#include <belay/error.h>
#include <belay/options.h>

#include <cstddef>
#include <regex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace init_fns {

// "a, b, c": the first 20, then how many more there are.
inline std::string joined(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 20;
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < kMost; ++i) text += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > kMost) text += ", and " + std::to_string(names.size() - kMost) + " more";
  return text;
}

// Matched from the start of a name, as TensorFlow's warm start does.
class NamePatterns {
 public:
  // `option` is its name for messages, "vars". INVALID_ARGUMENT for a text that is no regular expression.
  NamePatterns(std::string option, const belay::List<belay::Str>& texts) : option_(std::move(option)) {
    for (const belay::Str& text : texts) add(text.string());
  }

  bool empty() const noexcept { return patterns_.empty(); }
  // Whether one of them matches. Each that does counts as used.
  bool matches(const std::string& name) {
    bool any = false;
    for (Pattern& p : patterns_)
      if (std::regex_search(name, p.regex, std::regex_constants::match_continuous)) any = p.used = true;
    return any;
  }
  // A sentence for each that matched no name: `"w" in 'vars' matches no variable`.
  std::vector<std::string> unused() const {
    std::vector<std::string> all;
    for (const Pattern& p : patterns_)
      if (!p.used) all.push_back("\"" + p.text + "\" in '" + option_ + "' matches no variable");
    return all;
  }

 private:
  struct Pattern {
    std::string text;
    std::regex regex;
    bool used = false;
  };

  void add(std::string text) {
    // std::regex takes stack for each character.
    constexpr std::size_t kLongest = 1000;
    if (text.size() > kLongest)
      belay::fail(belay::Code::kInvalidArgument, "'" + option_ + "' has a regular expression of " +
                                                     std::to_string(text.size()) + " characters; at most " +
                                                     std::to_string(kLongest) + " are allowed");
    try {
      patterns_.push_back({text, std::regex(text), false});
    } catch (const std::regex_error& e) {
      belay::fail(belay::Code::kInvalidArgument,
                  "'" + option_ + "' has \"" + text + "\", which is no regular expression: " + e.what());
    }
  }

  std::string option_;
  std::vector<Pattern> patterns_;
};

}  // namespace init_fns
