// SPDX-License-Identifier: Apache-2.0
// The checkpoint that a session was restored from, kept until something is trained. A save of the same state writes
// nothing, since the checkpoint exists. So a continued run that saves because its session begins does not write a
// second checkpoint.
//
//   RestoredCheckpoint restored(*reader, total_of_versions(session));
//   ... a save is asked for; `content` is the moment that it would write ...
//   if (restored.holds(content, saver.name, total_of_versions(session))) there is no need to
//
// [session thread]
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "runtime/checkpoint/read/checkpoint_reader.h"

namespace belay::runtime {

class DirectSession;

// Changes with every write of a variable.
std::uint64_t total_of_versions(const DirectSession& session);

class RestoredCheckpoint {
 public:
  // Made after the restore. `versions`: total_of_versions.
  RestoredCheckpoint(const CheckpointReader& checkpoint, std::uint64_t versions);

  const std::string& path() const noexcept { return path_; }
  // Returns true if the checkpoint has all that `content` has. It compares the variables' versions, the inputs'
  // positions and the list of the best. Fingerprint, graph, saver, manifest and schema of this start must be equal,
  // too. Both must have a state of the same hooks. It does not compare the states themselves, since they contain
  // clocks. A start from here gets the same states as this one.
  bool holds(const CheckpointContent& content, const std::string& saver, std::uint64_t versions) const;

 private:
  std::string path_;
  std::uint64_t versions_;
  std::int64_t step_;
  std::map<std::string, Position> positions_;
  std::set<std::string> hooks_;
  Fingerprint fingerprint_;
  BestList best_;
  std::string graph_hash_;
  std::string saver_;
  std::uint32_t manifest_crc_ = 0, schema_crc_ = 0;  // of a checkpoint that keeps none: of nothing
};

}  // namespace belay::runtime
