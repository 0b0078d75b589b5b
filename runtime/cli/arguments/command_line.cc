// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/arguments/command_line.h"

#include <fmt/core.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "belay/abi.h"
#include "runtime/platform/process/build_id.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {

const std::vector<Command>& commands() {
  static const std::vector<Command> all = {
      declare_run(),     declare_evaluate(), declare_predict(),    declare_export(),  declare_check(),
      declare_show(),    declare_graph(),    declare_checkpoint(), declare_events(),  declare_report(),
      declare_compare(), declare_replay(),   declare_bisect(),     declare_reduce(),  declare_look(),
      declare_plugins(), declare_describe(), declare_validate(),   declare_new(),     declare_examples(),
      declare_migrate(), declare_schema(),   declare_doctor(),     declare_explain(),
  };
  return all;
}

const Command* find_command(std::string_view name) {
  for (const Command& c : commands())
    if (name == c.name) return &c;
  return nullptr;
}

std::vector<std::string> command_names() {
  std::vector<std::string> names;
  for (const Command& c : commands()) names.push_back(c.name);
  return names;
}

std::string meant_command(const std::string& name) {
  constexpr std::pair<const char*, const char*> kOthers[] = {
      {"train fit start resume continue launch", "belay run MANIFEST"},
      {"eval test score", "belay evaluate MANIFEST"},
      {"infer inference sample generate", "belay predict MANIFEST"},
      {"lint verify", "belay check MANIFEST"},
      {"init create", "belay examples, or belay new for a plugin"},
      {"tensorboard plot dashboard summary", "belay report DIR"},
      {"logs metrics scalars", "belay events DIR"},
      {"convert", "belay checkpoint convert"},
      {"info inspect", "belay describe NAME, or belay checkpoint show PATH"},
      {"list ls", "belay plugins, or belay checkpoint ls DIR"},
      {"diff", "belay compare DIR DIR, or belay checkpoint diff A B"},
      {"version", "belay --version"},
  };
  for (const auto& [others, ours] : kOthers)
    if ((" " + std::string(others) + " ").find(" " + name + " ") != std::string::npos && name.find(' ') == name.npos)
      return ": write " + std::string(ours);
  return did_you_mean(name, command_names());
}

std::string help_text() {
  std::ostringstream out;
  out << "belay trains models that plugins and a manifest describe.\n\nusage: belay COMMAND [ARGUMENTS]\n\n";
  for (const Command& c : commands()) {
    std::string left = c.name + " " + c.arguments;
    left.resize(std::max<std::size_t>(left.size() + 2, 34), ' ');
    out << "  " << left << c.what << "\n";
  }
  out << "\n  belay COMMAND --help lists the options of a command\n"
         "  belay help TOPIC prints a page of the reference: manifest, hooks, exit-statuses, ...\n"
         "  belay --version describes this build\n"
         "\nexit status: 0 done, 1 training failed, 2 usage or manifest, 3 plugin, 4 diverged, 5 no checkpoint can be\n"
         "restored, 6 run directory in use, 7 last save failed, 124 no progress, 130/143 stopped by a signal\n";
  return out.str();
}

std::string version_line() {
  return fmt::format("belay " BELAY_VERSION ", plugin ABI {}.{}, build {}", BELAY_ABI_MAJOR, BELAY_ABI_MINOR,
                     build_id());
}

}  // namespace belay::runtime
