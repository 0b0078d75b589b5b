// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/complete_command.h"

#include <algorithm>
#include <charconv>
#include <ostream>

#include "runtime/cli/command_line.h"
#include "runtime/cli/examples_command.h"
#include "runtime/cli/exit_status.h"
#include "runtime/cli/help_command.h"
#include "runtime/cli/plugin_template.h"
#include "runtime/manifest/parse.h"

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

// What a table of the manifest names a plugin by, and the plugin's kind.
struct PluginKey {
  const char* key;
  PluginKind kind;
};
constexpr PluginKey kPluginKeys[] = {
    {"input.train.plugin", PluginKind::kInput},    {"input.eval.plugin", PluginKind::kInput},
    {"input.predict.plugin", PluginKind::kInput},  {"model.plugin", PluginKind::kModel},
    {"optimizer.name", PluginKind::kOptimizer},    {"optimizer.learning_rate.schedule", PluginKind::kSchedule},
    {"scaffold.saver.plugin", PluginKind::kSaver}, {"cluster.plugin", PluginKind::kCluster}};

Candidates plugins_of(PluginKind kind, const std::function<PluginSearch()>& search) {
  Candidates names;
  const PluginSearch found = search();
  for (const FoundPlugin& p : found.plugins())
    if (p.info.kind == kind) names.push_back(p.info.name);
  return names;
}

// KEY= while the key is written, then KEY=NAME where it names a plugin.
Candidates settings(const std::string& word, const std::function<PluginSearch()>& search) {
  Candidates names;
  const std::size_t equals = word.find('=');
  for (const PluginKey& p : kPluginKeys) {
    const std::string key = std::string(p.key) + "=";
    if (equals == word.npos) names.push_back(key);
    if (word.substr(0, equals + 1) != key) continue;
    for (const std::string& name : plugins_of(p.kind, search)) names.push_back(key + name);
  }
  if (equals != word.npos) return names;
  for (const SectionKeys& section : manifest_keys())
    for (const std::string& key : section.keys)
      if (!section.section.empty() && section.section != "metrics") names.push_back(section.section + "." + key + "=");
  return names;
}

Candidates kinds() {
  Candidates all;
  for (const TemplateFile& file : template_files())
    if (all.empty() || all.back() != file.kind) all.emplace_back(file.kind);
  return all;
}

Candidates all_plugins(const std::function<PluginSearch()>& search) {
  Candidates names;
  const PluginSearch found = search();
  for (const FoundPlugin& p : found.plugins()) names.push_back(p.info.name);
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
  if (before == "--set") return settings(word, search);
  const std::vector<OptionText> options = option_texts(command);
  for (const OptionText& o : options)
    if (o.name == before && !o.value.empty()) return choices_of(o.value);
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
    names = all_plugins(search);
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
