// SPDX-License-Identifier: Apache-2.0
// `belay new manifest NAME --data FILE --label COLUMN`: a manifest that trains on a table as it is.
#pragma once

#include <ostream>
#include <string>

#include "runtime/cli/tables/table_profile.h"
#include "runtime/platform/files/file_system.h"

namespace belay::runtime {

struct NewManifest {
  std::string name;  // of the file, without .toml
  TableFiles data;
  std::string label;
  std::string split;        // "random" or "every"
  bool has_tabular = true;  // whether the model `tabular` is found; else `mlp` replaces it
};

// Returns the manifest. FAILED_PRECONDITION: the table cannot be trained on, since rows are damaged or labels are
// missing. INVALID_ARGUMENT: the label is neither a number nor a class.
std::string manifest_text(const NewManifest& manifest);

// Makes `directory`/NAME.toml and prints the next steps on `out`. Returns the exit status. UsageError: NAME is invalid,
// or the file exists.
int new_manifest(const NewManifest& manifest, FileSystem& files, const std::string& directory, std::ostream& out,
                 std::ostream& err);

}  // namespace belay::runtime
