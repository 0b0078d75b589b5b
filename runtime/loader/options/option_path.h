// SPDX-License-Identifier: Apache-2.0
// Names of keys below a table, "layers[].units" or "features.*.dtype", and the manifest's keys that they match:
// "layers.0.units", "features.image.dtype".
#pragma once

#include <string>
#include <string_view>

namespace belay::runtime {

// True if `name` matches `key`. `*` takes one part of the key or more, since a key in quotes may have dots.
bool path_matches(std::string_view name, std::string_view key);

// Returns the table that has the key, if `name` matches it: "layers.0" for "layers.0.units".
std::string table_of_key(std::string_view name, std::string_view key);

}  // namespace belay::runtime
