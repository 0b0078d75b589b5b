// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/plugins/new_command.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <functional>
#include <iostream>
#include <vector>

#include "belay/detail/check_class.h"
#include "belay/detail/note.h"
#include "belay/nearest.h"
#include "runtime/cli/arguments/command_line.h"
#include "runtime/cli/arguments/default_search.h"
#include "runtime/cli/plugins/plugin_template.h"
#include "runtime/cli/tables/new_manifest.h"
#include "runtime/platform/text/text.h"

namespace fs = std::filesystem;

namespace belay::runtime {
namespace {

// The forms of a plugin's name in its files.
struct Names {
  std::string plugin;  // loss-ceiling, in manifests and file names
  std::string symbol;  // loss_ceiling, in C++
  std::string type;    // LossCeiling
};

Names names_of(const std::string& plugin) {
  Names names{plugin, plugin, {}};
  bool begins_word = true;
  for (char& c : names.symbol) {
    if (c == '-') c = '_';
    if (c != '_') names.type += begins_word ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    begins_word = c == '_';
  }
  return names;
}

std::string replaced(std::string_view text, const std::string& from, const std::string& to) {
  std::string out(text);
  for (std::size_t at = 0; (at = out.find(from, at)) != std::string::npos; at += to.size())
    out.replace(at, from.size(), to);
  return out;
}

std::string named(std::string_view text, const Names& from, const Names& to) {
  const std::string module = "belay_module_";
  const std::string with_symbol = replaced(text, module + from.symbol, module + to.symbol);
  return replaced(replaced(with_symbol, from.type, to.type), from.plugin, to.plugin);
}

std::vector<std::string> kinds_of_templates() {
  std::vector<std::string> kinds;
  for (const TemplateFile& f : template_files())
    if (kinds.empty() || kinds.back() != f.kind) kinds.emplace_back(f.kind);
  return kinds;
}

void check_kind(const std::string& kind) {
  const std::vector<std::string> kinds = kinds_of_templates();
  if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end())
    throw UsageError("[B5005] belay new: \"" + escaped(kind) + "\" is no kind of plugin" + did_you_mean(kind, kinds) +
                     "; kinds: " + joined(kinds));
}

void check_name(const std::string& name) {
  // A vendor's name is added in the source. Here the name becomes files, a class and a target, too.
  if (!detail::is_plugin_name(name) || name.find('.') != std::string::npos)
    throw UsageError("[B5008] belay new: \"" + escaped(name) +
                     "\" cannot be a plugin's name, which is [a-z][a-z0-9_-]{0,62}");
  // The name becomes a target of the build, and every build has these targets already.
  for (const char* taken : {"all", "clean", "edit_cache", "help", "install", "package", "rebuild_cache", "test"})
    if (name == taken)
      throw UsageError("[B5008] belay new: \"" + name +
                       "\" is a target that every CMake build has; choose another name");
}

// Returns the argument with which cmake finds this program's SDK. Empty: cmake looks there by itself.
std::string prefix_argument() {
  std::error_code error;
  const fs::path prefix = fs::read_symlink("/proc/self/exe", error).parent_path().parent_path();
  if (error || prefix == "/usr" || prefix == "/usr/local" ||
      !fs::exists(prefix / BELAY_CMAKE_DIRECTORY_IN_PREFIX, error))
    return "";
  return " -DCMAKE_PREFIX_PATH=" + escaped(prefix.string());
}

}  // namespace

int new_command(const std::string& kind, const std::string& name, FileSystem& files, const std::string& directory,
                std::ostream& out) {
  check_kind(kind);
  check_name(name);
  const auto parent = files.open_directory(directory);
  if (parent->exists(name))
    throw UsageError("[B5007] belay new: \"" + name + "\" is there already; choose another name or remove it");
  const Names from = names_of("my_" + kind), to = names_of(name);
  // The folder has another name until it is complete.
  const std::string unfinished = "." + name + ".new";
  if (parent->exists(unfinished)) parent->remove_tree(unfinished);
  const auto made = parent->make_directory(unfinished);
  for (const TemplateFile& f : template_files()) {
    if (f.kind != kind) continue;
    const std::string text = named(f.text, from, to);
    const auto file = made->create(named(f.name, from, to));
    file->write(text.data(), text.size());
    file->close();
  }
  parent->rename(unfinished, name);
  out << "made " << name << "/: the " << kind << " " << name << ", its test, its build and a manifest\n\n  cd " << name
      << "\n  cmake -S . -B build" << prefix_argument()
      << "\n  cmake --build build\n  ctest --test-dir build --output-on-failure\n  belay validate build/" << name
      << ".so\n  belay run " << name << ".toml\n";
  return 0;
}

namespace {

// Looks for the model among the plugins, since a program may have fewer plugins.
bool has_model(const std::string& name) {
  const PluginSearch search = default_search();
  for (const FoundPlugin& p : search.plugins())
    if (p.info.kind == PluginKind::kModel && p.info.name == name) return true;
  return false;
}

int new_manifest_command(const Given& given) {
  const std::vector<std::string> words = given.arguments();
  if (words.size() != 2 || !given.has("data") || !given.has("label"))
    throw UsageError(
        "[B5003] belay new manifest takes a name, --data and --label, as in: belay new manifest churn --data churn.csv "
        "--label "
        "churn" +
        given.see_help());
  const std::string split = given.has("split") ? given.text("split") : "random";
  if (split != "random" && split != "every")
    throw UsageError("[B5004] belay new manifest: --split is \"" + escaped(split) +
                     "\", must be one of: random, every" +
                     did_you_mean(split, std::vector<std::string>{"random", "every"}));
  const TableFiles data = table_files(given, "new manifest", given.texts("data"));
  return new_manifest({words[1], data, given.text("label"), split, has_model("tabular")}, posix_file_system(), ".",
                      std::cout, std::cerr);
}

}  // namespace

Command declare_new() {
  CommandOptions options = {{"data", "manifest: CSV file to train on; may be repeated", Takes::kTexts, "FILE"},
                            {"label", "manifest: column to predict, by name or number", Takes::kText, "COLUMN"},
                            {"split", "manifest: rows of the evaluation: random, or every fifth row", Takes::kText,
                             "random|every", "random"}};
  for (CommandOption& option : table_options("manifest: ")) options.push_back(std::move(option));
  return {.name = "new",
          .arguments = "KIND NAME",
          .what = "makes a folder NAME with a working plugin, or with KIND manifest a manifest for a table",
          .options = std::move(options),
          .run =
              [](const Given& given) {
                const std::vector<std::string> words = given.arguments();
                if (!words.empty() && words[0] == "manifest") return new_manifest_command(given);
                if (words.size() != 2)
                  throw UsageError("[B5003] belay new takes a kind and a name, as in: belay new hook loss_ceiling" +
                                   given.see_help());
                return new_command(words[0], words[1], posix_file_system(), ".", std::cout);
              },
          .offers =
              [](std::size_t place, const std::string&, const std::function<PluginSearch()>&) {
                std::vector<std::string> kinds = kinds_of_templates();
                kinds.emplace_back("manifest");
                return place == 0 ? kinds : std::vector<std::string>();
              }};
}

}  // namespace belay::runtime
