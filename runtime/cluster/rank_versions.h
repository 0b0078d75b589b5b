// SPDX-License-Identifier: Apache-2.0
// The ranks of a run begin only if all have the same manifest, program, plugins and data.
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
  std::vector<std::pair<std::string, std::string>> manifest;  // keys and values that must be the same on all
  std::uint32_t program = 0;                                  // its build
  std::map<std::string, std::string> builds;                  // of the plugins, by kind and name
  std::vector<File> files;
  std::string schema;  // the training's input learned this from its data, as JSON; all take the chief's
};

// All ranks call it after they have met. INVALID_ARGUMENT if a rank has another manifest, build or data file. Files may
// differ if the manifest names another one on each rank. Returns a message about these, or an empty string.
std::string compare_versions(const RankMeeting& meeting, const RankVersions& mine);

}  // namespace belay::runtime
