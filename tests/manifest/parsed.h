// SPDX-License-Identifier: Apache-2.0
// A manifest from a string, parsed with an environment that the test sets.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/manifest/parse.h"

namespace belay::runtime {

struct Parsed {
  std::optional<Manifest> manifest;
  std::string errors;  // Diagnostics::text()
};

inline Environment test_environment(std::map<std::string, std::string> variables = {{"DATA", "/data"}, {"EMPTY", ""}}) {
  return [variables](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  };
}

inline Parsed parsed(const std::string& text, const std::vector<std::string>& sets = {},
                     const std::string& file = "train.toml") {
  Diagnostics problems;
  Parsed result;
  result.manifest = parse_manifest(ManifestSource{file, text}, sets, test_environment(), problems);
  result.errors = problems.text();
  return result;
}

inline std::string repeated(const std::string& text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

// Every manifest needs this; it follows the lines of a test, so that those begin at line 1.
inline const std::string kRest = "\n[input.train]\nplugin = \"idx\"\n[model]\nplugin = \"mlp\"\n";

inline std::string errors_of(const std::string& text, const std::vector<std::string>& sets = {}) {
  return parsed(text + kRest, sets).errors;
}

}  // namespace belay::runtime
