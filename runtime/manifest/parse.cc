// SPDX-License-Identifier: Apache-2.0
#include "runtime/manifest/parse.h"

#include <fmt/core.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

#include "runtime/manifest/lay_over.h"
#include "runtime/manifest/read_manifest.h"
#include "runtime/manifest/scan.h"
#include "runtime/manifest/sets.h"
#include "runtime/manifest/toml_tree.h"

namespace belay::runtime {

std::optional<ManifestSource> read_manifest(const std::string& path, Diagnostics& problems) {
  const bool standard_input = path == "-";
  const auto refuse = [&](int error) {
    problems.add({path, 0, 0}, fmt::format("[B1001] cannot read the manifest: {}", strerrordesc_np(error)),
                 error == ENOENT ? "give the path of a TOML file: belay run train.toml" : "");
    return std::nullopt;
  };
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(
      standard_input ? stdin : std::fopen(path.c_str(), "rbe"),
      standard_input ? [](std::FILE*) { return 0; } : std::fclose);
  if (file == nullptr) return refuse(errno);
  ManifestSource source{standard_input ? "<stdin>" : path, ""};
  std::array<char, 16384> block;
  // One byte above the limit shows that it is too large.
  while (source.text.size() <= kMaxManifestBytes) {
    const std::size_t n = std::fread(block.data(), 1, block.size(), file.get());
    source.text.append(block.data(), n);
    if (n < block.size()) break;
  }
  if (std::ferror(file.get()) != 0) return refuse(errno);
  return source;
}

namespace {

std::optional<TomlNode> parse_source(const ManifestSource& source, Diagnostics& problems) {
  if (source.text.size() <= kMaxManifestBytes) problems.add_source(source.file, source.text);
  if (!within_limits(source, problems)) return std::nullopt;
  return parse_toml(source, problems);
}

}  // namespace

std::optional<Manifest> parse_manifest(std::span<const ManifestSource> sources, const std::vector<std::string>& sets,
                                       const Environment& env, Diagnostics& problems) {
  std::optional<TomlNode> root;
  ManifestDirectories directories;
  for (const ManifestSource& source : sources) {
    std::optional<TomlNode> tree = parse_source(source, problems);
    if (!tree) return std::nullopt;
    if (root) {
      lay_over(*root, std::move(*tree));
      directories.others[source.file] = directory_of(source.file);
    } else {
      root = std::move(tree);
      directories.first = directory_of(source.file);
    }
  }
  if (!root) return std::nullopt;
  apply_sets(*root, sets, problems);
  const std::vector<SectionKeys> known = manifest_keys();
  Manifest manifest = read_manifest_tree(*root, sources[0].file, {directories, env, problems, known});
  manifest.file = sources[0].file;
  manifest.directories = std::move(directories);
  return manifest;
}

std::optional<Manifest> parse_manifest(const ManifestSource& source, const std::vector<std::string>& sets,
                                       const Environment& env, Diagnostics& problems) {
  return parse_manifest(std::span(&source, 1), sets, env, problems);
}

std::optional<Manifest> parse_manifests(const std::vector<std::string>& paths, const std::vector<std::string>& sets,
                                        const Environment& env, Diagnostics& problems) {
  std::vector<ManifestSource> sources;
  for (const std::string& path : paths)
    if (std::optional<ManifestSource> source = read_manifest(path, problems)) sources.push_back(std::move(*source));
  if (sources.size() != paths.size()) return std::nullopt;
  return parse_manifest(std::span<const ManifestSource>(sources), sets, env, problems);
}

std::optional<Manifest> parse_manifest(const std::string& path, const std::vector<std::string>& sets,
                                       const Environment& env, Diagnostics& problems) {
  return parse_manifests({path}, sets, env, problems);
}

}  // namespace belay::runtime
