// SPDX-License-Identifier: Apache-2.0
// `belay migrate MANIFEST.toml`: a manifest of an older spelling, or with keys as other programs spell them, in the
// spelling of this belay. Names of keys and sections are exchanged where they are, in their section, and nothing else:
// comments, order and values stay byte by byte.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "runtime/loader/file/search.h"
#include "runtime/manifest/parse.h"
#include "runtime/platform/files/file_system.h"

namespace belay::runtime {

// A key that this belay spells in another way than one before it.
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
  Diagnostics left;  // what is wrong with `text` all the same, as `belay check` says it, without running plugins
};

// Text that is no TOML stays as it is. A plugin's table is changed if `search` finds the plugin, so that its own option
// is never taken for another program's name of a key.
Migration migrate(const ManifestSource& source, const std::vector<RenamedKey>& renamed, const PluginSearcher& search,
                  const Environment& env);

struct MigrateArguments {
  std::string file;
  std::string output;  // empty: the file itself; "-": stdout
};

// Says on `out` what it has changed, on `err` what is left. Status 2 if that is something. The file as it was is
// kept beside it as NAME.before; UsageError if that is there already, and nothing is written then.
int migrate_command(const MigrateArguments& arguments, FileSystem& files, const PluginSearcher& search,
                    std::ostream& out, std::ostream& err);

}  // namespace belay::runtime
