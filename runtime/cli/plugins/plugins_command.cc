// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/plugins/plugins_command.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/cli/arguments/command_line.h"
#include "runtime/cli/arguments/default_search.h"
#include "runtime/cli/text/text_table.h"
#include "runtime/platform/text/coded_message.h"
#include "runtime/platform/text/terminal_text.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

using Json = nlohmann::ordered_json;

std::string heading(PluginKind kind) { return std::string(kind_name(kind)) + "s"; }

// Returns the used plugins, or the others, in the order of names.
std::vector<const FoundPlugin*> plugins_of(const PluginSearch& search, PluginKind kind, bool used) {
  std::vector<const FoundPlugin*> all;
  for (const FoundPlugin& p : search.plugins())
    if (p.info.kind == kind && (p.shadowed_by.empty() && p.conflicts_with.empty()) == used) all.push_back(&p);
  std::stable_sort(all.begin(), all.end(),
                   [](const FoundPlugin* a, const FoundPlugin* b) { return a->info.name < b->info.name; });
  return all;
}

// Cuts lines, so that a terminal does not break them.
std::string fitted(const std::string& text, int columns) {
  if (columns <= 0) return text;
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    out += std::string(cut_to_width(std::string_view(text).substr(at, end - at), static_cast<std::size_t>(columns))) +
           "\n";
    at = end + 1;
  }
  return out;
}

// A path is mostly wider than a terminal. So a terminal shows the plugin's purpose instead.
void print_used(const PluginSearch& search, int columns, std::ostream& out) {
  bool any = false;
  for (const PluginKind kind : kPluginKinds) {
    TextTable table;
    for (const FoundPlugin* p : plugins_of(search, kind, true))
      table.add({p->info.name, p->version, columns > 0 ? "" : p->file, p->info.doc});
    if (table.empty()) continue;
    any = true;
    out << heading(kind) << "\n" << fitted(table.text("  "), columns) << "\n";
  }
  if (!any) out << "no plugins\n\n";
}

void print_unused(const PluginSearch& search, std::ostream& out) {
  TextTable table;
  for (const PluginKind kind : kPluginKinds)
    for (const FoundPlugin* p : plugins_of(search, kind, false))
      table.add({std::string(kind_name(kind)) + " " + p->info.name, p->version, p->file,
                 p->shadowed_by.empty() ? "conflicts with " + p->conflicts_with : "shadowed by " + p->shadowed_by});
  if (!table.empty()) out << "not used\n" << table.text("  ") << "\n";
}

void print_rejected(const PluginSearch& search, std::ostream& out) {
  if (search.rejected().empty()) return;
  out << "rejected\n";
  for (const RejectedFile& r : search.rejected()) {
    out << "  " << shown_code(r.error.headline()) << "\n";
    if (!r.error.help().empty()) out << "    help: " << escaped(r.error.help()) << "\n";
  }
  out << "\n";
}

void print_searched(const PluginSearch& search, std::ostream& out) {
  TextTable table;
  for (const SearchDirectory& d : search.directories()) table.add({d.path, d.source});
  out << "searched, in this order\n" << table.text("  ");
  for (const std::string& warning : search.warnings()) out << "warning: " << escaped(warning) << "\n";
}

Json to_json(const FoundPlugin& p) {
  Json json{{"kind", kind_name(p.info.kind)},
            {"name", p.info.name},
            {"version", p.version},
            {"file", p.file},
            {"doc", p.info.doc}};
  if (!p.shadowed_by.empty()) json["shadowed_by"] = p.shadowed_by;
  if (!p.conflicts_with.empty()) json["conflicts_with"] = p.conflicts_with;
  return json;
}

void print_json(const PluginSearch& search, std::ostream& out) {
  Json json{{"plugins", Json::array()}, {"rejected", Json::array()}, {"directories", Json::array()}};
  for (const FoundPlugin& p : search.plugins()) json["plugins"].push_back(to_json(p));
  for (const RejectedFile& r : search.rejected())
    json["rejected"].push_back({{"path", r.path},
                                {"code", r.error.code_text()},
                                {"kind", kind_name(r.error.kind())},
                                {"reason", r.error.reason()},
                                {"help", r.error.help()}});
  for (const SearchDirectory& d : search.directories())
    json["directories"].push_back({{"path", d.path}, {"source", d.source}});
  json["warnings"] = search.warnings();
  out << shown_json(json.dump(2, ' ', false, Json::error_handler_t::replace)) << "\n";
}

// The width of the terminal on stdout; 0: it is none.
int terminal_columns() {
  winsize size{};
  return isatty(STDOUT_FILENO) == 1 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

}  // namespace

int plugins_command(const PluginSearch& search, bool json, std::ostream& out, int columns) {
  if (json) {
    print_json(search, out);
    return 0;
  }
  print_used(search, columns, out);
  print_unused(search, out);
  print_rejected(search, out);
  print_searched(search, out);
  return 0;
}

Command declare_plugins() {
  return {.name = "plugins",
          .what = "lists the plugins that are found, and the files that cannot be used",
          .options = {{"json", "as JSON"}},
          .run = [](const Given& given) {
            if (!given.arguments().empty())
              throw UsageError("[B5003] belay plugins takes no argument; belay describe NAME shows one plugin");
            return plugins_command(default_search(), given.has("json"), std::cout, terminal_columns());
          }};
}

}  // namespace belay::runtime
