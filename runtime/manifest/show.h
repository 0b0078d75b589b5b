// SPDX-License-Identifier: Apache-2.0
// The effective manifest of a run, as TOML that reads back as the same Manifest. It is for `belay show`, and for
// manifest.toml in a run directory.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/manifest/manifest.h"

namespace belay::runtime {

// Writes all sections with every default filled in. A comment names each key without a value. Our paths are absolute.
// Plugins' options are those of each PluginUse, unchanged. A caller that knows the plugins' declarations first adds
// their defaults and absolute paths.
std::string effective_manifest(const Manifest& manifest);

// Adds the place of each value after it: "max_steps = 600  # train.toml:7", "# --set run.max_steps", "# default".
std::string manifest_with_origins(const Manifest& manifest);

// One key that has a value. The section is "run", "input.train" or "hooks.csv_logger". An element of a list has its
// name, not its index; a second one of that name is "csv_logger 2".
struct ManifestValue {
  std::string section;
  std::string key;    // an option's has dots: "layers.0.units"
  std::string value;  // in TOML

  bool operator==(const ManifestValue&) const = default;
};
using ManifestValues = std::vector<ManifestValue>;

// Returns the tables of a list by those names; `list` is "hooks" or "scaffold.init_fn".
std::map<std::string, const PluginUse*> elements_of(const std::vector<PluginUse>& uses, const std::string& list);

// Returns all of them, in the form and order of effective_manifest, for comparing two manifests key by key.
ManifestValues manifest_values(const Manifest& manifest);

}  // namespace belay::runtime
