// SPDX-License-Identifier: Apache-2.0
// `belay migrate MANIFEST.toml` rewrites a manifest in the spelling of this belay. The manifest may have an older
// spelling, or the keys of other programs. It replaces only names of keys and sections, at their place. Comments, order
// and values stay byte by byte.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "runtime/loader/file/search.h"
#include "runtime/manifest/parse.h"
#include "runtime/platform/files/file_system.h"

namespace belay::runtime {

// A key that this belay spells in another way than an earlier one.
struct RenamedKey {
  const char* section;  // "run"; "": the key is a section
  const char* was;
  const char* is;
};

// All of them, the oldest first. Version 1 of the manifest has renamed none yet.
const std::vector<RenamedKey>& renamed_keys();

// The plugins in the directories of a manifest's [plugins] path, and in those after them.
using PluginSearcher = std::function<PluginSearch(const std::vector<std::string>& manifest_path)>;

struct Migration {
  struct Change {
    int line = 0;
    std::string was, is;  // "lr", "[trainer]"
  };
  std::string text;
  std::vector<Change> changes;  // by line
  Diagnostics left;             // the mistakes that `belay check` still finds in `text` without running plugins
};

// Text that is no TOML stays as it is. A plugin's table is changed only if `search` finds the plugin. So another
// program's name of a key is never confused with the plugin's option.
Migration migrate(const ManifestSource& source, const std::vector<RenamedKey>& renamed, const PluginSearcher& search,
                  const Environment& env);

struct MigrateArguments {
  std::string file;
  std::string output;  // empty: the file itself; "-": stdout
};

// Prints its changes on `out`, and the remaining mistakes on `err`; then the status is 2. It keeps the original file
// beside it as NAME.before. UsageError if that exists already, and nothing is written then.
int migrate_command(const MigrateArguments& arguments, FileSystem& files, const PluginSearcher& search,
                    std::ostream& out, std::ostream& err);

}  // namespace belay::runtime
