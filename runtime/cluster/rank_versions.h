// SPDX-License-Identifier: Apache-2.0
// All ranks of a run have the same manifest, programs, plugins and data, or they do not begin.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runtime/cluster/rank_meeting.h"

namespace belay::runtime {

struct RankVersions {
  // A file that the training reads.
  struct File {
    std::string option, path;
    std::uint64_t bytes = 0;
    std::string ends, whole;   // checksums; `whole` may be empty
    bool by_variable = false;  // the manifest names it by a variable of the environment
  };
  std::vector<std::pair<std::string, std::string>> manifest;  // what must be the same on all: keys and values
  std::uint32_t program = 0;                                  // its build
  std::map<std::string, std::string> builds;                  // of the plugins, by kind and name
  std::vector<File> files;
  std::string schema;  // what the training's input learned of its data, as JSON; all take the chief's
};

// All ranks call it when they have met. INVALID_ARGUMENT if a rank has another manifest, build or data file. Returns
// the files that differ since the manifest names another one on each rank; empty: none.
std::string compare_versions(const RankMeeting& meeting, const RankVersions& mine);

}  // namespace belay::runtime
