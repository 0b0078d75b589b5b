// SPDX-License-Identifier: Apache-2.0
// What a session was restored from, for as long as nothing was trained: a save of the very same state writes nothing,
// as the checkpoint is there. So a run that goes on, and then saves because its session begins, costs no second
// checkpoint.
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

#include "runtime/checkpoint/checkpoint_reader.h"

namespace belay::runtime {

class DirectSession;

// Changes with every write of a variable.
std::uint64_t total_of_versions(const DirectSession& session);

class RestoredCheckpoint {
 public:
  // Behind the restore. `versions`: total_of_versions.
  RestoredCheckpoint(const CheckpointReader& checkpoint, std::uint64_t versions);

  const std::string& path() const noexcept { return path_; }
  // Whether the checkpoint has all that `content` has: the variables, untouched since; the inputs' positions; the
  // fingerprint, graph, saver, manifest and schema of this start; the list of the best; and a state of each of the same
  // hooks. What the hooks' states say is not compared, for they have clocks in them: a start that goes on from here
  // gets those that this one was given.
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
