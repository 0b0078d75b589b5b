// SPDX-License-Identifier: Apache-2.0
#include "runtime/monitored/saving/restored_checkpoint.h"

#include <algorithm>

#include "runtime/checkpoint/format/names.h"
#include "runtime/platform/files/crc32c.h"
#include "runtime/session/direct_session.h"

namespace belay::runtime {
namespace {

std::set<std::string> names_of(const std::map<std::string, HookState>& states) {
  std::set<std::string> names;
  for (const auto& [name, state] : states) names.insert(name);
  return names;
}

bool same_positions(const std::map<std::string, Position>& a, const std::map<std::string, Position>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.first == y.first && x.second.epoch == y.second.epoch && x.second.index == y.second.index &&
           x.second.bytes == y.second.bytes;
  });
}

}  // namespace

std::uint64_t total_of_versions(const DirectSession& session) {
  std::uint64_t total = 0;
  for (const Variable* v : session.variables()) total += v->version.load(std::memory_order_relaxed);
  return total;
}

RestoredCheckpoint::RestoredCheckpoint(const CheckpointReader& checkpoint, std::uint64_t versions)
    : path_(checkpoint.path()),
      versions_(versions),
      step_(checkpoint.state().global_step),
      positions_(checkpoint.state().input_positions),
      hooks_(names_of(checkpoint.state().hook_states)),
      fingerprint_(checkpoint.state().fingerprint),
      best_(checkpoint.state().best),
      graph_hash_(checkpoint.index().graph_hash),
      saver_(checkpoint.index().saver) {
  for (const FileEntry& file : checkpoint.index().files) {
    if (file.name == kManifestName) manifest_crc_ = file.crc32c;
    if (file.name == kSchemaName) schema_crc_ = file.crc32c;
  }
}

bool RestoredCheckpoint::holds(const CheckpointContent& content, const std::string& saver,
                               std::uint64_t versions) const {
  return versions == versions_ && content.global_step == step_ && same_positions(content.input_positions, positions_) &&
         names_of(content.hook_states) == hooks_ && content.fingerprint == fingerprint_ && content.best == best_ &&
         content.graph_hash == graph_hash_ && saver == saver_ && crc32c(content.manifest) == manifest_crc_ &&
         crc32c(content.schema) == schema_crc_;
}

}  // namespace belay::runtime
