// SPDX-License-Identifier: Apache-2.0
// The effective manifest: what a run is made from, as TOML that reads back as the same Manifest (`belay show`, and
// manifest.toml in a run directory).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/manifest/manifest.h"

namespace belay::runtime {

// All sections with every default filled in; what is not set and has no value is in a comment. Our own paths are
// absolute. Plugins' options are those of each PluginUse, as they are: a caller that knows the plugins' declarations
// puts their defaults and absolute paths there first.
std::string effective_manifest(const Manifest& manifest);

// The same with the place of each value behind it: "max_steps = 600  # train.toml:7", "# --set run.max_steps",
// "# default".
std::string manifest_with_origins(const Manifest& manifest);

// One key that has a value. The section is "run", "input.train", "hooks.csv_logger": an element of a list by its name,
// not by its place, a second one of the same name "csv_logger 2".
struct ManifestValue {
  std::string section;
  std::string key;    // an option's with dots: "layers.0.units"
  std::string value;  // as TOML writes it

  bool operator==(const ManifestValue&) const = default;
};
using ManifestValues = std::vector<ManifestValue>;

// The tables of a list by those names, `list` being "hooks" or "scaffold.init_fn".
std::map<std::string, const PluginUse*> elements_of(const std::vector<PluginUse>& uses, const std::string& list);

// All of them, as effective_manifest writes them and in its order: for comparing two manifests key by key.
ManifestValues manifest_values(const Manifest& manifest);

}  // namespace belay::runtime
