// SPDX-License-Identifier: Apache-2.0
// From a manifest's source to a Manifest. Every problem is reported at once, with its place.
//
//   Diagnostics problems;
//   std::optional<Manifest> manifest = parse_manifest("train.toml", {"run.max_steps=100"}, process_environment(),
//   problems);
//   ... the loader checks the plugins' options and adds what it finds ...
//   if (!problems.empty()) { std::cerr << problems.text(); return 2; }
//
// A manifest comes from anywhere: one over 1 MiB, with a key of more than 64 parts, with more than 64 levels of tables
// and lists, with bytes that are no UTF-8, or with a NUL is refused before the TOML parser sees it. A byte order mark,
// CRLF and an empty file are fine. Nothing is created, no plugin is looked at.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/manifest/diagnostics.h"
#include "runtime/manifest/manifest.h"
#include "runtime/manifest/paths.h"

namespace belay::runtime {

// `version = 1` above the sections: of the keys that a manifest is written in. It may be left out.
inline constexpr std::int64_t kManifestVersion = 1;

inline constexpr std::size_t kMaxManifestBytes = std::size_t{1} << 20;

struct ManifestSource {
  std::string file;  // as given on the command line; relative paths inside are relative to its directory
  std::string text;
};

// Reads the file, at most kMaxManifestBytes of it; "-" is standard input. Nothing and one problem where that fails.
std::optional<ManifestSource> read_manifest(const std::string& path, Diagnostics& problems);

// `sets` are the arguments of --set, `key.path=value`, applied in order. The value is TOML; if it is not (and does not
// begin like a quoted string, a list or a table) it is a string: run.dir=out. A number in the path is an index:
// hooks.0.name=x.
//
// Nothing if the file is not TOML. Otherwise a manifest with all that was right, so that the loader can look for more
// problems; it is for running only if `problems` is empty. A PluginUse with neither plugin nor file was reported here.
std::optional<Manifest> parse_manifest(const ManifestSource& source, const std::vector<std::string>& sets,
                                       const Environment& env, Diagnostics& problems);

// Of several manifests, one over the other: a table of a later one adds its keys to the earlier one's and overrides
// those that both have; every other value, lists too ([[hooks]]), takes the place of the earlier one, and so does a
// table that names another plugin. Relative paths are relative to the file that they are in. --set comes last.
std::optional<Manifest> parse_manifest(std::span<const ManifestSource> sources, const std::vector<std::string>& sets,
                                       const Environment& env, Diagnostics& problems);

// read_manifest and parse_manifest.
std::optional<Manifest> parse_manifests(const std::vector<std::string>& paths, const std::vector<std::string>& sets,
                                        const Environment& env, Diagnostics& problems);
std::optional<Manifest> parse_manifest(const std::string& path, const std::vector<std::string>& sets,
                                       const Environment& env, Diagnostics& problems);

// The keys of each section whose keys are fixed ("run", "optimizer.learning_rate", ...), and at "" the sections: for
// the schema, for completion, for tests.
struct SectionKeys {
  std::string section;
  std::vector<std::string> keys;
  std::map<std::string, std::vector<std::string>> choices = {};  // of keys that are one of some words, or a boolean
};
std::vector<SectionKeys> manifest_keys();

// The keys that a plugin's table has besides the plugin's own options: plugin, file, name and on_error (which only
// hooks may set), for inputs also prefetch, for exporters when, keep and signature, for clusters max_wait_secs,
// timeout_secs, wire, bucket_mib, on_lost_rank and min_ranks.
enum class PluginTable { kInput, kModel, kSaver, kInitFn, kHook, kOp, kExporter, kCluster };
std::vector<std::string> reserved_keys(PluginTable table);

}  // namespace belay::runtime
