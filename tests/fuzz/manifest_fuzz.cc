// SPDX-License-Identifier: Apache-2.0
// Any bytes as a manifest; the text after each line "--set" is an argument:
//
//   [run]
//   seed = 1
//   --set
//   run.seed=2
//
// Nothing may crash, hang or print a control character, and what is shown of a good manifest reads back as the same.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/manifest/parse.h"
#include "runtime/manifest/scan.h"
#include "runtime/manifest/show.h"
#include "runtime/manifest/toml_tree.h"
#include "runtime/platform/text/text.h"

namespace {

using namespace belay::runtime;

void require(bool holds, const char* rule, const std::string& text) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n%s\n", rule, text.c_str());
  std::abort();
}

std::vector<std::string> split(std::string_view text) {
  constexpr std::string_view kSeparator = "\n--set\n";
  std::vector<std::string> parts;
  for (std::size_t at; (at = text.find(kSeparator)) != text.npos; text.remove_prefix(at + kSeparator.size()))
    parts.emplace_back(text.substr(0, at));
  parts.emplace_back(text);
  return parts;
}

std::optional<std::string> environment(const std::string& name) {
  if (name == "DATA") return "/data";
  return std::nullopt;
}

bool has_control_characters(std::string_view text) {
  while (!text.empty()) {
    const Utf8Char c = first_char(text);
    if (!c.valid || (is_control(c.value) && c.value != '\n')) return true;
    text.remove_prefix(c.size);
  }
  return false;
}

// The first thing that recursion hangs on.
int depth(const TomlNode& node) {
  int deepest = 0;
  if (const auto* list = std::get_if<TomlList>(&node.value))
    for (const TomlNode& element : *list) deepest = std::max(deepest, 1 + depth(element));
  if (const auto* table = std::get_if<TomlTable>(&node.value))
    for (const TomlEntry& entry : *table) deepest = std::max(deepest, 1 + depth(entry.node));
  return deepest;
}

void check_depth(const ManifestSource& source) {
  Diagnostics problems;
  if (!within_limits(source, problems)) return;
  const std::optional<TomlNode> tree = parse_toml(source, problems);
  require(!tree || depth(*tree) <= kMaxLevels, "deeper than the scan thought", source.text);
}

// NaN is not equal to itself, and a path may hold a "${" that came from the manifest's own name.
bool reads_back(const std::string& shown) {
  return shown.find("nan") == std::string::npos && shown.find("${") == std::string::npos;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::string> parts = split({reinterpret_cast<const char*>(data), size});
  const ManifestSource source{"/m/train.toml", parts.front()};
  parts.erase(parts.begin());
  check_depth(source);
  Diagnostics problems;
  const std::optional<Manifest> manifest = parse_manifest(source, parts, environment, problems);
  require(manifest || !problems.empty(), "no manifest, and no reason", source.text);
  const std::string errors = problems.text();
  require(!has_control_characters(errors), "control characters in the report", errors);
  if (!manifest || !problems.empty()) return 0;

  const std::string shown = effective_manifest(*manifest);
  require(!has_control_characters(shown), "control characters in the effective manifest", shown);
  if (!reads_back(shown)) return 0;
  Diagnostics again;
  const std::optional<Manifest> second = parse_manifest(ManifestSource{source.file, shown}, {}, environment, again);
  require(again.empty(), "what is shown is no manifest", shown + again.text());
  require(*second == *manifest, "what is shown is another manifest", shown + "\n" + effective_manifest(*second));
  return 0;
}
