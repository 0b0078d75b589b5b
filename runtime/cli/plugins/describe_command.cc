// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/plugins/describe_command.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <vector>

#include "belay/detail/nested_name.h"
#include "belay/detail/parse_options.h"
#include "runtime/checkpoint/format/names.h"
#include "runtime/cli/arguments/command_line.h"
#include "runtime/cli/arguments/default_search.h"
#include "runtime/cli/plugins/manifest_block.h"
#include "runtime/cli/text/option_json.h"
#include "runtime/cli/text/text_table.h"
#include "runtime/data/schema.h"
#include "runtime/estimator/resume/export_folder.h"
#include "runtime/loader/file/dependencies.h"
#include "runtime/platform/files/file_system.h"
#include "runtime/platform/text/coded_message.h"
#include "runtime/platform/text/terminal_text.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

using Json = nlohmann::ordered_json;

// The facts about a library that need no load.
struct Description {
  LibraryFile library;
  std::vector<std::string> exports;
  std::vector<std::string> export_flaws;
  std::vector<Dependency> dependencies;
  std::vector<PluginInfo> plugins;  // those that were asked for
  bool by_file = false;             // the file was asked for
};

Description describe(const std::string& path) {
  FilePolicy policy;
  const CpuFeatures cpu;
  Description d;
  const OpenLibrary opened = open_library(path);
  d.library = vet_library(opened, path, policy, cpu);
  const ElfFile elf(*opened.bytes, path);
  for (ElfSymbol& symbol : elf.exports())
    d.exports.push_back(std::move(symbol.name) + (symbol.unique ? " (unique)" : ""));
  d.export_flaws = export_flaws(elf);
  for (const std::string& flaw : link_flaws(elf)) d.library.warnings.push_back("plugin '" + path + "' " + flaw);
  const char* library_path = std::getenv("LD_LIBRARY_PATH");
  d.dependencies = walk_dependencies(path, library_path == nullptr ? "" : library_path);
  d.plugins = d.library.module.plugins;
  return d;
}

[[noreturn]] void fail_unknown(const std::string& name, const PluginSearch& search) {
  std::vector<std::string> names;
  for (const FoundPlugin& p : search.plugins()) names.push_back(p.info.name);
  const std::string near = nearest(name, names);
  throw LoadError(
      LoadErrorKind::kNotFound, "", "[B2025] plugin \"" + name + "\" is not found in " + search.searched(),
      (near.empty() ? "" : "did you mean \"" + near + "\"? ") + std::string("`belay plugins` lists what exists"));
}

// Returns the files that have the plugin, each with its matching plugins.
std::vector<Description> find(const std::string& what, const PluginSearch& search) {
  const bool is_path =
      what.find('/') != std::string::npos || (what.size() > 3 && what.compare(what.size() - 3, 3, ".so") == 0);
  if (is_path) {
    Description d = describe(std::filesystem::absolute(what).lexically_normal().string());
    d.by_file = true;
    return {std::move(d)};
  }
  std::string name = what;
  std::vector<PluginKind> kinds(std::begin(kPluginKinds), std::end(kPluginKinds));
  if (const std::size_t colon = what.find(':'); colon != std::string::npos) {
    const auto kind = kind_from_name(what.substr(0, colon));
    std::vector<std::string> all;
    for (const PluginKind k : kPluginKinds) all.emplace_back(kind_name(k));
    if (!kind)
      throw LoadError(LoadErrorKind::kNotFound, "", "[B2028] \"" + what.substr(0, colon) + "\" is no kind of plugin",
                      "kinds: " + joined(all));
    name = what.substr(colon + 1);
    search.find(*kind, name);
    kinds = {*kind};
  }
  std::vector<Description> found;
  for (const PluginKind kind : kinds) {
    bool exists = false;
    for (const FoundPlugin& p : search.plugins()) exists = exists || (p.info.kind == kind && p.info.name == name);
    if (!exists) continue;
    const FoundPlugin& p = search.find(kind, name);
    if (found.empty() || found.back().library.path != p.file) {
      found.push_back(describe(p.file));
      found.back().plugins.clear();
    }
    found.back().plugins.push_back(p.info);
  }
  if (!found.empty()) return found;
  for (const RejectedFile& r : search.rejected())
    if (std::filesystem::path(r.path).stem().string() == name) throw r.error;
  fail_unknown(name, search);
}

// Returns the value as a manifest writes it.
std::string written(const OptionValue& value) {
  const auto one = [](const auto& v) -> std::string {
    using T = std::decay_t<decltype(v)>;
    if constexpr (std::is_same_v<T, std::string>) {
      return double_quoted(v);
    } else if constexpr (std::is_same_v<T, bool>) {
      return v ? "true" : "false";
    } else if constexpr (std::is_same_v<T, double>) {
      return detail::number_text(v);
    } else {
      return std::to_string(v);
    }
  };
  const auto any = [&](const auto& v) -> std::string {
    using T = std::decay_t<decltype(v)>;
    if constexpr (std::is_same_v<T, std::monostate>) {
      return "[]";
    } else if constexpr (std::is_same_v<T, std::string> || std::is_arithmetic_v<T>) {
      return one(v);
    } else {
      std::string list;
      for (std::size_t i = 0; i < v.size(); ++i)
        list += (i == 0 ? "" : ", ") + one(static_cast<typename T::value_type>(v[i]));
      return "[" + list + "]";
    }
  };
  return std::visit(any, value);
}

std::string limits(const OptionInfo& option) {
  std::vector<std::string> parts;
  if (option.min && option.max)
    parts.push_back(detail::number_text(*option.min) + " to " + detail::number_text(*option.max));
  else if (option.min)
    parts.push_back("at least " + detail::number_text(*option.min));
  else if (option.max)
    parts.push_back("at most " + detail::number_text(*option.max));
  if (!option.choices.empty()) {
    std::vector<std::string> choices;
    for (const std::string& choice : option.choices) choices.push_back(double_quoted(choice));
    parts.push_back("one of " + joined(choices));
  }
  if (option.single) parts.emplace_back("or one without brackets");
  if (!option.when.empty()) parts.push_back("for " + option.when_key + " " + joined(option.when));
  if (option.watching) parts.emplace_back("watching");
  if (option.learned) parts.emplace_back("others inherit it");
  return joined(parts, "; ");
}

void print_block(const std::string& block, std::ostream& out) {
  out << "  in a manifest\n";
  std::size_t begin = 0;
  for (std::size_t end; (end = block.find('\n', begin)) != block.npos; begin = end + 1)
    out << "    " << block.substr(begin, end - begin) << "\n";
  out << "\n";
}

// Returns all options; those inside a table follow it.
std::vector<OptionInfo> all_options(const PluginInfo& plugin) {
  std::vector<OptionInfo> all;
  for (const OptionInfo& option : plugin.options) {
    all.push_back(option);
    for (const OptionInfo& nested : plugin.nested)
      if (detail::option_of(nested.name) == option.name) all.push_back(nested);
  }
  return all;
}

// Prints the facts about the code that the note has.
void print_uses(const PluginInfo& plugin, std::ostream& out) {
  if (plugin.uses && !plugin.uses->empty()) out << "  callbacks: " << escaped(joined(*plugin.uses)) << "\n";
  if (plugin.state) out << (*plugin.state ? "  keeps a state in checkpoints\n" : "  keeps no state\n");
}

// Breaks a text into lines of at most so many columns, unless a word is longer.
std::string wrapped(const std::string& text, const std::string& indent, std::size_t columns) {
  std::string all, line;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    if (!line.empty() && display_width(indent + line) + 1 + display_width(word) > columns) {
      all += indent + line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
    at = end + 1;
  }
  return line.empty() ? all : all + indent + line + "\n";
}

// Returns a row for each option. If a row would be wider than two terminals, the limits and the purpose of each option
// are below it instead.
std::string options_text(const std::vector<OptionInfo>& options) {
  constexpr std::size_t kWidest = 160, kColumns = 100;
  TextTable wide, narrow;
  for (const OptionInfo& option : options) {
    const std::string otherwise = option.required        ? "required"
                                  : option.default_value ? "default " + written(*option.default_value)
                                                         : "";
    wide.add({option.name, type_name(option), otherwise, limits(option), option.help});
    narrow.add({option.name, type_name(option), otherwise});
  }
  const std::string indent = "    ";
  std::string rows = wide.text(indent);
  std::size_t widest = 0;
  for (std::size_t at = 0, end = 0; (end = rows.find('\n', at)) != rows.npos; at = end + 1)
    widest = std::max(widest, display_width(std::string_view(rows).substr(at, end - at)));
  if (widest <= kWidest) return rows;
  std::string text;
  std::istringstream heads(narrow.text(indent));
  for (const OptionInfo& option : options) {
    std::string head;
    std::getline(heads, head);
    text += head + "\n" + wrapped(escaped(option.help), indent + "  ", kColumns) +
            wrapped(escaped(limits(option)), indent + "  ", kColumns);
  }
  return text;
}

void print_plugin(const PluginInfo& plugin, const std::string& file, std::ostream& out) {
  out << kind_name(plugin.kind) << " " << double_quoted(plugin.name) << "\n";
  if (!plugin.doc.empty()) out << "  " << escaped(plugin.doc) << "\n";
  print_uses(plugin, out);
  const std::string options = options_text(all_options(plugin));
  const std::string what = plugin.kind == PluginKind::kOp ? "attributes" : "options";
  out << (options.empty() ? "  no " + what + "\n" : "  " + what + "\n" + options) << "\n";
  print_block(manifest_block(plugin, file), out);
}

void print_library(const Description& d, std::ostream& out) {
  const ModuleInfo& m = d.library.module;
  TextTable table;
  table.add({"file", d.library.path});
  table.add({"version", m.version});
  table.add({"ABI", fmt::format("{}.{}", m.abi_major, m.abi_minor)});
  table.add({"toolchain", m.toolchain});
  table.add({"instructions", m.isa.empty() ? "the baseline" : joined(m.isa)});
  table.add({"exports", std::to_string(d.exports.size()) + (d.exports.size() == 1 ? " symbol" : " symbols")});
  for (const Dependency& dependency : d.dependencies)
    table.add({"needs", dependency.name + (dependency.path.empty() ? " (missing)"
                                           : dependency.problem.empty()
                                               ? " (" + dependency.path + ")"
                                               : " (" + dependency.path + " " + dependency.problem + ")")});
  out << "library\n" << table.text("  ");
  for (const std::string& flaw : d.export_flaws) out << "warning: it " << escaped(flaw) << "\n";
  for (const std::string& warning : d.library.warnings) out << "warning: " << escaped(warning) << "\n";
}

Json json_of(const PluginInfo& plugin) {
  Json json{{"kind", kind_name(plugin.kind)}, {"name", plugin.name}, {"doc", plugin.doc}};
  if (plugin.uses) json["uses"] = *plugin.uses;
  if (plugin.state) json["state"] = *plugin.state;
  json["options"] = Json::array();
  for (const OptionInfo& o : all_options(plugin)) {
    Json option{{"name", o.name}, {"type", type_name(o)}};
    if (o.required) option["required"] = true;
    if (o.default_value) option["default"] = option_json(*o.default_value);
    if (o.min) option["min"] = *o.min;
    if (o.max) option["max"] = *o.max;
    if (!o.choices.empty()) option["choices"] = o.choices;
    if (o.single) option["single"] = true;
    if (!o.when.empty()) option["when"] = {{o.when_key, o.when}};
    if (o.example) option["example"] = option_json(*o.example);
    if (o.watching) option["watching"] = true;
    if (o.learned) option["learned"] = true;
    option["help"] = o.help;
    json["options"].push_back(std::move(option));
  }
  return json;
}

Json json_of(const Description& d) {
  const ModuleInfo& m = d.library.module;
  Json json{{"file", d.library.path},
            {"version", m.version},
            {"abi", {m.abi_major, m.abi_minor}},
            {"toolchain", m.toolchain},
            {"isa", m.isa},
            {"exports", d.exports},
            {"dependencies", Json::array()},
            {"warnings", d.library.warnings},
            {"plugins", Json::array()}};
  for (const Dependency& dependency : d.dependencies) {
    Json one{{"name", dependency.name}};
    if (!dependency.path.empty()) one["path"] = dependency.path;
    if (!dependency.problem.empty()) one["problem"] = dependency.problem;
    one["wanted_by"] = dependency.wanted_by;
    json["dependencies"].push_back(std::move(one));
  }
  for (const PluginInfo& plugin : d.plugins) json["plugins"].push_back(json_of(plugin));
  return json;
}

// Describes an export: its model and step, its files, and the columns and classes that the training learned.
void describe_export(const std::filesystem::path& folder, bool json, std::ostream& out) {
  const std::unique_ptr<OpenDirectory> directory = posix_file_system().open_directory(folder.string());
  constexpr std::uint64_t kMost = std::uint64_t{1} << 20;
  const ExportRecord record = parse_export_record(directory->read(kExportFileName, kMost));
  const std::string schema = directory->exists(kSchemaName) ? directory->read(kSchemaName, kMaxSchemaBytes) : "";
  if (json) {
    Json all{{"path", folder.string()},
             {"exporter", record.exporter},
             {"model", record.model},
             {"global_step", record.global_step},
             {"files", Json::array()}};
    for (const FileEntry& f : record.files) all["files"].push_back(f.name);
    if (!schema.empty()) all["schema"] = Json::parse(schema, nullptr, false);
    out << shown_json(all.dump(2, ' ', false, Json::error_handler_t::replace)) << "\n";
    return;
  }
  TextTable table;
  table.add({"model", record.model});
  table.add({"step", std::to_string(record.global_step)});
  table.add({"exporter", record.exporter});
  std::vector<std::string> names;
  for (const FileEntry& f : record.files) names.push_back(f.name);
  table.add({"files", joined(names)});
  if (!schema.empty())
    for (const auto& [what, words] : schema_rows(parse_schema(schema))) table.add({what, words});
  out << "export " << escaped(folder.string()) << "\n" << table.text("  ");
}

// Returns the names of all plugins, as KIND:NAME if the word has a kind.
std::vector<std::string> plugins_to_describe(const std::string& word, const PluginSearch& found) {
  std::vector<std::string> names;
  for (const FoundPlugin& p : found.plugins()) {
    const std::string kind = std::string(kind_name(p.info.kind)) + ":";
    if (word.find(':') == word.npos) names.push_back(p.info.name);
    if (word.starts_with(kind)) names.push_back(kind + p.info.name);
  }
  return names;
}

}  // namespace

int describe_command(const std::string& what, const PluginSearch& search, bool json, std::ostream& out,
                     std::ostream& err) {
  std::error_code ignored;
  const std::filesystem::path folder = std::filesystem::absolute(what, ignored).lexically_normal();
  if (std::filesystem::is_regular_file(folder / kExportFileName, ignored)) {
    try {
      describe_export(folder, json, out);
      return 0;
    } catch (const Error& e) {
      err << error_line(escaped(folder.string()) + ": " + e.what()) << "\n";
      return 2;
    }
  }
  try {
    const std::vector<Description> found = find(what, search);
    if (json) {
      Json all = Json::array();
      for (const Description& d : found) all.push_back(json_of(d));
      out << shown_json(all.dump(2, ' ', false, Json::error_handler_t::replace)) << "\n";
      return 0;
    }
    for (const Description& d : found) {
      for (const PluginInfo& plugin : d.plugins) print_plugin(plugin, d.by_file ? d.library.path : "", out);
      print_library(d, out);
    }
    return 0;
  } catch (const LoadError& e) {
    err << error_line(e.what()) << "\n";
    return 3;
  }
}

Command declare_describe() {
  return {.name = "describe",
          .arguments = "NAME|KIND:NAME|FILE.so|EXPORT",
          .what = "shows a plugin and its options, or the contents of an export",
          .options = {{"json", "as JSON"}},
          .run =
              [](const Given& given) {
                const std::string what = given.argument("plugin");
                return describe_command(what, default_search(), given.has("json"), std::cout, std::cerr);
              },
          .offers = [](std::size_t, const std::string& word,
                       const std::function<PluginSearch()>& search) { return plugins_to_describe(word, search()); }};
}

}  // namespace belay::runtime
