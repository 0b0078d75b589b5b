// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/plugins/migrate_command.h"

#include <algorithm>
#include <cctype>
#include <iostream>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "belay/error.h"
#include "runtime/checkpoint/read/stored_place.h"  // path_parts
#include "runtime/cli/arguments/command_line.h"
#include "runtime/cli/arguments/default_search.h"
#include "runtime/cli/arguments/exit_status.h"
#include "runtime/loader/file/load_error.h"
#include "runtime/loader/library/resolve.h"
#include "runtime/manifest/other_names.h"
#include "runtime/manifest/scan.h"
#include "runtime/manifest/sections.h"
#include "runtime/manifest/toml_tree.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

// A name in the text that must be replaced.
struct Renaming {
  int line = 0;
  std::size_t offset = 0;  // in its line, in bytes
  std::string was, is;
  bool section = false;
};

std::string plain_name(std::string_view name) {
  std::string out;
  for (const char c : name)
    if (c != '_' && c != '-') out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

bool is_one_of(const std::string& word, const std::vector<std::string>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool is_one_of_words(const std::string& word, const std::string& words) {
  return (" " + words + " ").find(" " + word + " ") != std::string::npos;
}

std::string_view line_at(std::string_view text, int number) {
  for (; number > 1; --number) text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  return text.substr(0, text.find('\n'));
}

bool is_key_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-'; }

// Returns the place of a name in its line, as a separate word. None: the line spells it in another way.
std::optional<std::size_t> find_name(std::string_view line, const std::string& name, std::size_t from) {
  for (std::size_t at = line.find(name, from); at != line.npos; at = line.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    if (at > 0 && is_key_char(line[at - 1])) continue;
    if (end < line.size() && is_key_char(line[end])) continue;
    return at;
  }
  return std::nullopt;
}

class Migrator {
 public:
  Migrator(const ManifestSource& source, const std::vector<RenamedKey>& renamed, const PluginSearcher& search)
      : source_(source), renamed_(renamed), search_(search), known_(manifest_keys()) {}

  // The renamings in the tree, in the order of the text.
  std::vector<Renaming> renamings(const TomlNode& root) {
    const auto& table = std::get<TomlTable>(root.value);
    for (const TomlEntry& entry : table) {
      const std::string section = section_of(entry, table);
      if (section != entry.key) rename_headers(entry, section);
      look_into(section, entry.node);
    }
    std::sort(found_.begin(), found_.end(), [](const Renaming& a, const Renaming& b) {
      return std::pair(a.line, a.offset) < std::pair(b.line, b.offset);
    });
    return std::move(found_);
  }

 private:
  const std::vector<std::string>& keys_of_section(const std::string& section) const {
    static const std::vector<std::string> none;
    for (const SectionKeys& s : known_)
      if (s.section == section) return s.keys;
    return none;
  }

  const char* new_name(const std::string& section, const std::string& key) const {
    for (const RenamedKey& r : renamed_)
      if (section == r.section && key == r.was) return r.is;
    return nullptr;
  }

  // Returns the section of a table at the top, by belay's name. If the table's name is belay's, or unknown, it stays.
  std::string section_of(const TomlEntry& entry, const TomlTable& root) const {
    if (is_one_of(entry.key, keys_of_section("")) || entry.key == "version") return entry.key;
    if (std::holds_alternative<std::string>(entry.node.value)) return entry.key;
    std::string ours;
    if (const char* is = new_name("", entry.key)) ours = is;
    for (const OtherName& other : other_names())
      if (ours.empty() && *other.kind == '\0' && *other.key == '\0' && *other.section != '\0' &&
          is_one_of_words(plain_name(entry.key), other.names))
        ours = other.section;
    const bool is_list = std::holds_alternative<TomlList>(entry.node.value);
    if (const auto* table = std::get_if<TomlTable>(&entry.node.value); table != nullptr && ours == "eval")
      if (find(*table, "plugin") != nullptr) return entry.key;  // an input that is evaluated on
    const bool wants_list = !ours.empty() && section_header(ours).starts_with("[[");
    if (ours.empty() || is_list != wants_list) return entry.key;
    const std::size_t dot = ours.find('.');
    const TomlEntry* there = find(root, ours.substr(0, dot));
    if (there == nullptr) return ours;
    const auto* tables = std::get_if<TomlTable>(&there->node.value);
    return dot != ours.npos && tables != nullptr && find(*tables, ours.substr(dot + 1)) == nullptr ? ours : entry.key;
  }

  // Renames [trainer], [trainer.x], [[callbacks]]: each header that begins with the name.
  void rename_headers(const TomlEntry& entry, const std::string& section) {
    int number = 0;
    for (std::string_view rest = source_.text; !rest.empty();) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(line.size() + 1, rest.size()));
      ++number;
      const std::size_t bracket = std::min(line.find_first_not_of(" \t"), line.size());
      const std::size_t name = std::min(line.find_first_not_of("[ \t", bracket), line.size());
      if (bracket == line.size() || line[bracket] != '[' || line.substr(name, entry.key.size()) != entry.key) continue;
      const std::size_t end = std::min(line.find_first_not_of(" \t", name + entry.key.size()), line.size());
      if (end < line.size() && (line[end] == ']' || line[end] == '.'))
        found_.push_back({number, name, entry.key, section, true});
    }
  }

  void look_into(const std::string& section, const TomlNode& node) {
    if (const auto* list = std::get_if<TomlList>(&node.value)) {
      for (const TomlNode& element : *list) look_into(section, element);
      return;
    }
    const auto* table = std::get_if<TomlTable>(&node.value);
    if (table == nullptr) return;
    if (section == "input") {
      for (const TomlEntry& input : *table) look_into("input." + input.key, input.node);
      return;
    }
    const std::vector<std::string> keys = keys_that_are(section, *table);
    if (keys.empty()) return;
    for (const TomlEntry& entry : *table) look_at(section, entry, *table, keys);
  }

  // Returns all keys that this table may have; none if they are not known.
  std::vector<std::string> keys_that_are(const std::string& section, const TomlTable& table) const {
    std::vector<std::string> keys = keys_of_section(section);
    PluginKind kind = PluginKind::kHook;
    const char* by = "plugin";
    if (section == "optimizer") {
      kind = PluginKind::kOptimizer;
      by = "name";
    } else if (section == "model") {
      kind = PluginKind::kModel;
      keys = reserved_keys(PluginTable::kModel);
    } else if (section.starts_with("input.")) {
      kind = PluginKind::kInput;
      keys = reserved_keys(PluginTable::kInput);
    } else if (section == "hooks") {
      keys = reserved_keys(PluginTable::kHook);
    } else {
      return keys;
    }
    const TomlEntry* named = find(table, by);
    const auto* name = named == nullptr ? nullptr : std::get_if<std::string>(&named->node.value);
    if (name == nullptr && section != "optimizer") return {};
    const PluginSearch plugins = search_({});
    try {
      for (const OptionInfo& option : plugins.find(kind, name == nullptr ? "sgd" : *name).info.options)
        keys.push_back(option.name);
    } catch (const LoadError&) {
      // The section has separate keys, which every optimizer has.
      return section == "optimizer" ? keys : std::vector<std::string>();
    }
    return keys;
  }

  // The keys of all inputs are the same.
  static bool same_section(const std::string& section, const std::string& other) {
    return section == other || (section.starts_with("input.") && other.starts_with("input."));
  }

  std::string ours(const std::string& section, const std::string& key, const std::vector<std::string>& keys) const {
    if (const char* is = new_name(section, key)) return is;
    const std::string plain = plain_name(key);
    for (const std::string& known : keys)
      if (plain_name(known) == plain) return known;
    // A new name is not enough for a key with a remark.
    for (const OtherName& other : other_names())
      if (*other.kind == '\0' && *other.remark == '\0' && same_section(section, other.section) &&
          is_one_of(other.key, keys) && is_one_of_words(plain, other.names))
        return other.key;
    return key;
  }

  void look_at(const std::string& section, const TomlEntry& entry, const TomlTable& table,
               const std::vector<std::string>& keys) {
    if (is_one_of(entry.key, keys)) return;
    const std::string is = ours(section, entry.key, keys);
    if (is == entry.key || find(table, is) != nullptr) return;
    const std::string_view line = line_at(source_.text, entry.at.line);
    const std::size_t from =
        std::min<std::size_t>(static_cast<std::size_t>(std::max(entry.at.column - 1, 0)), line.size());
    if (const auto at = find_name(line, entry.key, from)) found_.push_back({entry.at.line, *at, entry.key, is, false});
  }

  const ManifestSource& source_;
  const std::vector<RenamedKey>& renamed_;
  const PluginSearcher& search_;
  const std::vector<SectionKeys> known_;
  std::vector<Renaming> found_;
};

std::string with(std::string text, const std::vector<Renaming>& renamings) {
  for (auto r = renamings.rbegin(); r != renamings.rend(); ++r) {
    const std::size_t line = static_cast<std::size_t>(line_at(text, r->line).data() - text.data());
    text.replace(line + r->offset, r->was.size(), r->is);
  }
  return text;
}

// Finds the mistakes in the names of plugins and their options.
void check_plugins(const Manifest& manifest, const PluginSearcher& search, const Environment& env,
                   Diagnostics& problems) {
  const Registry linked;
  const PluginSearch plugins = search(manifest.plugins.path);
  FilePolicy policy;
  const CpuFeatures cpu;
  PluginResolver resolver(linked, plugins, policy, cpu, {manifest.directories, env}, problems);
  ResolvedPlugins found = resolver.resolve(manifest);
  if (trains(manifest.run.mode)) resolver.resolve_optimizer(manifest, found);
}

// Returns the name with the brackets of belay's section: "[trainer]".
std::string shown(const Renaming& renaming, const std::string& name) {
  if (!renaming.section) return name;
  return section_header(renaming.is).starts_with("[[") ? "[[" + name + "]]" : "[" + name + "]";
}

}  // namespace

const std::vector<RenamedKey>& renamed_keys() {
  static const std::vector<RenamedKey> none;
  return none;
}

Migration migrate(const ManifestSource& source, const std::vector<RenamedKey>& renamed, const PluginSearcher& search,
                  const Environment& env) {
  Migration out{source.text, {}, {}};
  Diagnostics unread;
  std::vector<Renaming> renamings;
  if (within_limits(source, unread))
    if (const std::optional<TomlNode> root = parse_toml(source, unread))
      renamings = Migrator(source, renamed, search).renamings(*root);
  // Another program's name may have had a value of another kind: verbose = true.
  Diagnostics with_all;
  (void)parse_manifest(ManifestSource{source.file, with(source.text, renamings)}, {}, env, with_all);
  std::set<int> wrong;
  for (const Diagnostic& d : with_all.sorted()) wrong.insert(d.at.line);
  std::erase_if(renamings, [&](const Renaming& r) { return !r.section && wrong.count(r.line) != 0; });
  out.text = with(source.text, renamings);
  for (const Renaming& r : renamings) out.changes.push_back({r.line, shown(r, r.was), shown(r, r.is)});
  const std::optional<Manifest> manifest = parse_manifest(ManifestSource{source.file, out.text}, {}, env, out.left);
  if (manifest) check_plugins(*manifest, search, env, out.left);
  return out;
}

int migrate_command(const MigrateArguments& arguments, FileSystem& files, const PluginSearcher& search,
                    std::ostream& out, std::ostream& err) {
  Diagnostics problems;
  const std::optional<ManifestSource> source = read_manifest(arguments.file, problems);
  if (!source) {
    err << problems.text();
    return kExitUsage;
  }
  const Migration migration = migrate(*source, renamed_keys(), search, process_environment());
  const bool to_stdout = arguments.output == "-" || (arguments.output.empty() && arguments.file == "-");
  std::ostream& said = to_stdout ? err : out;
  const std::string output = arguments.output.empty() ? arguments.file : arguments.output;
  if (to_stdout) {
    out << migration.text;
  } else if (!migration.changes.empty() || output != arguments.file) {
    const PathParts parts = path_parts(output);
    const auto directory = files.open_directory(parts.parent);
    if (output == arguments.file) {
      const std::string before = parts.name + ".before";
      if (directory->exists(before))
        throw UsageError("[B5007] belay migrate: " + single_quoted(path_in(parts.parent, before)) +
                         " is there already; move it away, or name another file by --output FILE");
      directory->replace(before, source->text);
      said << "kept as it was: " << escaped(path_in(parts.parent, before)) << "\n";
    }
    directory->replace(parts.name, migration.text);
  }
  for (const Migration::Change& change : migration.changes)
    said << escaped(source->file) << ":" << change.line << ": " << escaped(change.was) << " is now "
         << escaped(change.is) << "\n";
  if (migration.changes.empty()) said << escaped(source->file) << ": there is nothing to migrate\n";
  if (migration.left.empty()) return kExitDone;
  err << migration.left.text();
  return kExitUsage;
}

Command declare_migrate() {
  return {.name = "migrate",
          .arguments = "MANIFEST.toml",
          .what = "rewrites a manifest with old spellings, or with other programs' keys, in the current form",
          .options = {{"output", "file to write, - for stdout (the manifest itself)", Takes::kText, "FILE"}},
          .run = [](const Given& given) {
            const MigrateArguments arguments{given.argument("manifest"), given.text("output")};
            return migrate_command(arguments, posix_file_system(), search_behind, std::cout, std::cerr);
          }};
}

}  // namespace belay::runtime
