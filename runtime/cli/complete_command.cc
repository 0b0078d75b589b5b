// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/complete_command.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <ostream>

#include "runtime/cli/command_line.h"
#include "runtime/cli/complete_settings.h"
#include "runtime/cli/examples_command.h"
#include "runtime/cli/exit_status.h"
#include "runtime/cli/help_command.h"
#include "runtime/cli/plugin_template.h"

namespace belay::runtime {
namespace {

using Candidates = std::vector<std::string>;

void append(Candidates& names, const Candidates& more) { names.insert(names.end(), more.begin(), more.end()); }

// "text" and "json" of "text|json"; none of "KEY=VALUE" or "N".
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

// Of one kind, or of each; `prefix` before the names.
void append_plugins(Candidates& names, const PluginSearch& found, std::optional<PluginKind> kind,
                    const std::string& prefix = "") {
  for (const FoundPlugin& p : found.plugins())
    if (!kind || p.info.kind == *kind) names.push_back(prefix + p.info.name);
}

Candidates kinds() {
  Candidates all;
  for (const TemplateFile& file : template_files())
    if (all.empty() || all.back() != file.kind) all.emplace_back(file.kind);
  return all;
}

// What follows an option: words of its own, or names of plugins; nothing: files, or what is free.
Candidates values_of(const OptionText& option, const std::function<PluginSearch()>& search) {
  Candidates names = choices_of(option.value);
  if (option.name == "--saver" || option.name == "--source-saver") append_plugins(names, search(), PluginKind::kSaver);
  if (option.name == "--hook") append_plugins(names, search(), PluginKind::kHook);
  return names;
}

// NAME, and KIND:NAME where the kind is written.
Candidates plugins_to_describe(const std::string& word, const PluginSearch& found) {
  Candidates names;
  if (word.find(':') == word.npos) append_plugins(names, found, std::nullopt);
  for (const FoundPlugin& p : found.plugins())
    if (const std::string kind = std::string(kind_name(p.info.kind)) + ":"; word.starts_with(kind))
      names.push_back(kind + p.info.name);
  return names;
}

Candidates candidates(const Candidates& words, std::size_t current, const std::function<PluginSearch()>& search) {
  Candidates names = command_names();
  names.emplace_back("help");
  if (current == 1) {
    append(names, {"--help", "--version"});
    return names;
  }
  const std::string &command = words[1], &before = words[current - 1], &word = words[current];
  if (command == "help") {
    append(names, help_topics());
    return names;
  }
  if (before == "--set")
    return settings_to_offer({words.begin(), words.begin() + static_cast<std::ptrdiff_t>(current)}, word, search);
  const std::vector<OptionText> options = option_texts(command);
  const std::size_t equals = word.find('=');
  for (const OptionText& o : options) {
    if (o.value.empty()) continue;
    if (o.name == before) return values_of(o, search);
    if (equals == word.npos || o.name != word.substr(0, equals)) continue;
    names = values_of(o, search);
    for (std::string& name : names) name.insert(0, o.name + "=");
    return names;
  }
  names.clear();
  if (word.starts_with('-')) {
    for (const OptionText& o : options) names.push_back(o.name);
  } else if (command == "checkpoint" && current == 2) {
    names = checkpoint_verbs();
  } else if (command == "new" && current == 2) {
    names = kinds();
  } else if (command == "examples") {
    for (const Example& e : examples()) names.emplace_back(e.name);
  } else if (command == "describe") {
    names = plugins_to_describe(word, search());
  }
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
