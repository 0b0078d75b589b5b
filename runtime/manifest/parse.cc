// SPDX-License-Identifier: Apache-2.0
#include "runtime/manifest/parse.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "runtime/manifest/read_manifest.h"
#include "runtime/manifest/scan.h"
#include "runtime/manifest/sets.h"
#include "runtime/manifest/toml_tree.h"

namespace belay::runtime {

std::optional<ManifestSource> read_manifest(const std::string& path, Diagnostics& problems) {
  const auto refuse = [&](int error) {
    problems.add({path, 0, 0}, std::string("cannot read the manifest: ") + strerrordesc_np(error),
                 error == ENOENT ? "give the path of a TOML file: belay run train.toml" : "");
    return std::nullopt;
  };
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rbe"), std::fclose);
  if (file == nullptr) return refuse(errno);
  ManifestSource source{path, ""};
  std::array<char, 16384> block;
  // One byte more than there may be shows that it is too large.
  while (source.text.size() <= kMaxManifestBytes) {
    const std::size_t n = std::fread(block.data(), 1, block.size(), file.get());
    source.text.append(block.data(), n);
    if (n < block.size()) break;
  }
  if (std::ferror(file.get()) != 0) return refuse(errno);
  return source;
}

std::optional<Manifest> parse_manifest(const ManifestSource& source, const std::vector<std::string>& sets,
                                       const Environment& env, Diagnostics& problems) {
  if (source.text.size() <= kMaxManifestBytes) problems.add_source(source.file, source.text);
  if (!within_limits(source, problems)) return std::nullopt;
  std::optional<TomlNode> root = parse_toml(source, problems);
  if (!root) return std::nullopt;
  apply_sets(*root, sets, problems);
  const std::string directory = directory_of(source.file);
  const std::vector<SectionKeys> known = manifest_keys();
  Manifest manifest = read_manifest_tree(*root, source.file, {directory, env, problems, known});
  manifest.file = source.file;
  manifest.directory = directory;
  return manifest;
}

std::optional<Manifest> parse_manifest(const std::string& path, const std::vector<std::string>& sets,
                                       const Environment& env, Diagnostics& problems) {
  const std::optional<ManifestSource> source = read_manifest(path, problems);
  if (!source) return std::nullopt;
  return parse_manifest(*source, sets, env, problems);
}

}  // namespace belay::runtime
