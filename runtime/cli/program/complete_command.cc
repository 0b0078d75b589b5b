// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/program/complete_command.h"

#include <algorithm>
#include <charconv>
#include <ostream>

#include "runtime/cli/arguments/command_line.h"
#include "runtime/cli/arguments/exit_status.h"
#include "runtime/cli/program/complete_settings.h"
#include "runtime/cli/program/help_command.h"

namespace belay::runtime {
namespace {

using Candidates = std::vector<std::string>;

void append(Candidates& names, const Candidates& more) { names.insert(names.end(), more.begin(), more.end()); }

// Returns "text" and "json" for "text|json"; none for "KEY=VALUE" or "N".
Candidates choices_of(const std::string& value) {
  Candidates all;
  for (std::size_t begin = 0; begin <= value.size();) {
    const std::size_t end = std::min(value.find('|', begin), value.size());
    std::string choice = value.substr(begin, end - begin);
    const bool literal = std::all_of(choice.begin(), choice.end(), [](char c) { return c >= 'a' && c <= 'z'; });
    if (literal && !choice.empty()) all.push_back(std::move(choice));
    begin = end + 1;
  }
  return all;
}

// Returns the words after an option: its choices, or names of plugins. None: files, or any words.
Candidates values_of(const CommandOption& option, const std::function<PluginSearch()>& search) {
  Candidates names = choices_of(option.value);
  if (!option.plugins) return names;
  const PluginSearch found = search();
  for (const FoundPlugin& p : found.plugins())
    if (p.info.kind == *option.plugins) names.push_back(p.info.name);
  return names;
}

Candidates candidates(const Candidates& words, std::size_t current, const std::function<PluginSearch()>& search) {
  Candidates names = command_names();
  names.emplace_back("help");
  if (current == 1) {
    append(names, {"--help", "--version"});
    return names;
  }
  const std::string &name = words[1], &before = words[current - 1], &word = words[current];
  if (name == "help") {
    append(names, help_topics());
    return names;
  }
  if (before == "--set")
    return settings_to_offer({words.begin(), words.begin() + static_cast<std::ptrdiff_t>(current)}, word, search);
  const Command unknown, *const found = find_command(name);
  const Command& command = found == nullptr ? unknown : *found;
  const std::size_t equals = word.find('=');
  for (const CommandOption& o : command.options) {
    if (o.takes == Takes::kNothing) continue;
    if (o.full_name() == before) return values_of(o, search);
    if (equals == word.npos || o.full_name() != word.substr(0, equals)) continue;
    names = values_of(o, search);
    for (std::string& value : names) value.insert(0, o.full_name() + "=");
    return names;
  }
  if (!word.starts_with('-'))
    return command.offers == nullptr ? Candidates() : command.offers(current - 2, word, search);
  names = {"--help"};
  for (const CommandOption& o : command.options) names.push_back(o.full_name());
  return names;
}

}  // namespace

int complete_command(const std::vector<std::string>& args, const std::function<PluginSearch()>& search,
                     std::ostream& out) {
  std::size_t current = 0;
  if (args.empty()) return kExitUsage;
  const std::string& number = args[0];
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), current);
  Candidates words(args.begin() + 1, args.end());
  if (error != std::errc() || end != number.data() + number.size() || current == 0 || current > words.size())
    return kExitUsage;
  if (current == words.size()) words.emplace_back();  // a word that is not begun
  Candidates names = candidates(words, current, search);
  std::erase_if(names, [&](const std::string& name) { return !name.starts_with(words[current]); });
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  for (const std::string& name : names) out << name << "\n";
  return kExitDone;
}

}  // namespace belay::runtime
