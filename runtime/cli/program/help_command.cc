// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/program/help_command.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <ostream>
#include <string_view>

#include "runtime/cli/arguments/command_line.h"
#include "runtime/cli/arguments/exit_status.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

constexpr std::string_view kSectionPage = "commands";

// Topics that have another name on their page, or are a part of one: a section, or the whole page.
struct Alias {
  std::string_view topic, page, heading;
};
constexpr Alias kAliases[] = {
    {"exit-codes", kSectionPage, "Exit statuses"},
    {"optimizers", "manifest", "`[optimizer]`"},
    {"schedules", "manifest", "`[optimizer.learning_rate]`"},
    {"resume", "checkpoint", ""},
};

// Returns "exit-statuses" for "Exit statuses". Empty: it is a command's section, which has its name in `...`.
std::string topic_of(std::string_view heading) {
  if (heading.find('`') != heading.npos) return "";
  std::string topic;
  for (const char c : heading) topic += c == ' ' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return topic;
}

// The sections of a page by their headings, each with its heading.
std::map<std::string, std::string> sections_of(const std::string& page) {
  constexpr std::string_view mark = "\n## ";
  std::map<std::string, std::string> sections;
  for (std::size_t begin = page.find(mark); begin != page.npos;) {
    const std::size_t next = page.find(mark, begin + 1);
    const std::size_t name = begin + mark.size();
    sections[page.substr(name, page.find('\n', name) - name)] =
        page.substr(begin + 1, next == page.npos ? next : next - begin);
    begin = next;
  }
  return sections;
}

// "checkpoint" is already a command's name.
std::string topic_of_page(const std::string& page) {
  if (page == "checkpoint") return "checkpoints";
  std::string topic = page;
  std::replace(topic.begin(), topic.end(), '_', '-');
  return topic;
}

std::map<std::string, std::string> topics() {
  std::map<std::string, std::string> all;
  for (const HelpPage& page : help_pages()) {
    const std::map<std::string, std::string> sections = sections_of(page.text);
    if (page.name == kSectionPage)
      for (const auto& [heading, text] : sections)
        if (const std::string topic = topic_of(heading); !topic.empty()) all[topic] = text;
    for (const Alias& alias : kAliases)
      if (alias.page == page.name)
        all[std::string(alias.topic)] = alias.heading.empty() ? page.text : sections.at(std::string(alias.heading));
  }
  for (const HelpPage& page : help_pages()) all[topic_of_page(page.name)] = page.text;
  return all;
}

}  // namespace

std::vector<std::string> help_topics() {
  std::vector<std::string> names;
  for (const auto& [name, text] : topics()) names.push_back(name);
  return names;
}

int help_command(const std::vector<std::string>& args, std::ostream& out) {
  if (args.size() > 1) throw UsageError(fmt::format("[B5003] belay help takes one name, {} were given", args.size()));
  if (args.empty()) {
    out << help_text();
    return kExitDone;
  }
  if (const Command* command = find_command(args[0])) {
    out << help_text(*command);
    return kExitDone;
  }
  const auto all = topics();
  const auto topic = all.find(args[0]);
  if (topic == all.end()) {
    std::vector<std::string> names = help_topics();
    const std::vector<std::string> commands = command_names();
    names.insert(names.end(), commands.begin(), commands.end());
    throw UsageError("[B5005] belay help has nothing about '" + escaped(args[0]) + "'" + did_you_mean(args[0], names) +
                     "; besides the commands there are " + joined(help_topics()));
  }
  out << topic->second;
  return kExitDone;
}

}  // namespace belay::runtime
