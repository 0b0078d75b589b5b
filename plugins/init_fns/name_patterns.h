// SPDX-License-Identifier: Apache-2.0
// Selects the variables of an init function by the regular expressions of one of its options.
#pragma once

#include <belay/error.h>
#include <belay/options.h>
#include <re2/re2.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace init_fns {

// Returns "a, b, c": the first 20, then the number of the others.
inline std::string joined(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 20;
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < kMost; ++i) text += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > kMost) text += ", and " + std::to_string(names.size() - kMost) + " more";
  return text;
}

// Matches from the start of a name, like TensorFlow's warm start. Names come from foreign files. RE2 bounds its stack
// and its time, however long a name is.
class NamePatterns {
 public:
  // `option` is the name for messages, "vars". INVALID_ARGUMENT: RE2 cannot use a text.
  NamePatterns(std::string option, const belay::List<belay::Str>& texts) : option_(std::move(option)) {
    for (const belay::Str& text : texts) add(text.string());
  }

  bool empty() const noexcept { return patterns_.empty(); }
  // True if one of the patterns matches. Each that does counts as used.
  bool matches(const std::string& name) {
    bool any = false;
    for (Pattern& p : patterns_)
      if (p.regex->Match(name, 0, name.size(), RE2::ANCHOR_START, nullptr, 0)) any = p.used = true;
    return any;
  }
  // Returns a sentence for each pattern without a match: `"w" in 'vars' matches no variable`.
  std::vector<std::string> unused() const {
    std::vector<std::string> all;
    for (const Pattern& p : patterns_)
      if (!p.used) all.push_back("\"" + p.text + "\" in '" + option_ + "' matches no variable");
    return all;
  }

 private:
  struct Pattern {
    std::string text;
    std::unique_ptr<RE2> regex;  // RE2 cannot be moved
    bool used = false;
  };

  void add(std::string text) {
    auto regex = std::make_unique<RE2>(text, RE2::Quiet);
    if (!regex->ok())
      belay::fail(belay::Code::kInvalidArgument,
                  "'" + option_ + "' has \"" + text + "\", which is no regular expression: " + regex->error());
    patterns_.push_back({std::move(text), std::move(regex), false});
  }

  std::string option_;
  std::vector<Pattern> patterns_;
};

}  // namespace init_fns
