// SPDX-License-Identifier: Apache-2.0
// Turns a manifest's source into a Manifest. Every problem is reported at once, with its place.
//
//   Diagnostics problems;
//   std::optional<Manifest> manifest = parse_manifest("train.toml", {"run.max_steps=100"}, process_environment(),
//   problems);
//   ... the loader checks the plugins' options and adds what it finds ...
//   if (!problems.empty()) { std::cerr << problems.text(); return 2; }
//
// A manifest may come from anywhere. So some are refused before the TOML parser sees them. Limits are 1 MiB, keys of 64
// parts, and 64 levels of tables and lists. Bytes that are no UTF-8, and a NUL, are refused, too. A byte order mark,
// CRLF and an empty file are allowed. Nothing is created, and no plugin is read.
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

// `version = 1` above the sections is the version of the manifest's keys. It may be left out.
inline constexpr std::int64_t kManifestVersion = 1;

inline constexpr std::size_t kMaxManifestBytes = std::size_t{1} << 20;

struct ManifestSource {
  std::string file;  // as given on the command line; its directory is the base of relative paths
  std::string text;
};

// Reads the file, at most kMaxManifestBytes of it; "-" is standard input. None, and one problem: that failed.
std::optional<ManifestSource> read_manifest(const std::string& path, Diagnostics& problems);

// `sets` are the arguments of --set, `key.path=value`, applied in order. The value is TOML. If it is not (and does not
// begin like a quoted string, a list or a table), it is a string: run.dir=out. A number in the path is an index:
// hooks.0.name=x.
//
// Returns none if the file is not TOML. Otherwise it returns a manifest with all valid parts, so that the loader can
// find more problems. It can only be run if `problems` is empty. A PluginUse with neither plugin nor file was reported
// here.
std::optional<Manifest> parse_manifest(const ManifestSource& source, const std::vector<std::string>& sets,
                                       const Environment& env, Diagnostics& problems);

// Lays several manifests over each other. A table of a later one adds its keys to the earlier one's, and overrides keys
// of both. Every other value, including lists ([[hooks]]), replaces the earlier one. A table with another plugin does,
// too. Relative paths are relative to their file. --set comes last.
std::optional<Manifest> parse_manifest(std::span<const ManifestSource> sources, const std::vector<std::string>& sets,
                                       const Environment& env, Diagnostics& problems);

// Calls read_manifest and parse_manifest.
std::optional<Manifest> parse_manifests(const std::vector<std::string>& paths, const std::vector<std::string>& sets,
                                        const Environment& env, Diagnostics& problems);
std::optional<Manifest> parse_manifest(const std::string& path, const std::vector<std::string>& sets,
                                       const Environment& env, Diagnostics& problems);

// The keys of each section with fixed keys ("run", "optimizer.learning_rate", ...), and at "" the sections: for the
// schema, for completion, for tests.
struct SectionKeys {
  std::string section;
  std::vector<std::string> keys;
  std::map<std::string, std::vector<std::string>> choices = {};  // of keys that are one of some words, or a boolean
};
std::vector<SectionKeys> manifest_keys();

enum class PluginTable { kInput, kModel, kSaver, kInitFn, kHook, kOp, kExporter, kCluster };
// Returns the keys of a plugin's table besides the plugin's options: plugin, file, name and on_error (only for hooks).
// Inputs add prefetch; exporters add when, keep and signature. Clusters add max_wait_secs, timeout_secs, wire,
// bucket_mib, on_lost_rank and min_ranks.
std::vector<std::string> reserved_keys(PluginTable table);

}  // namespace belay::runtime
