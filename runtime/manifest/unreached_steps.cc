// SPDX-License-Identifier: Apache-2.0
#include "runtime/manifest/unreached_steps.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>

#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

// Returns "train.toml:12: ".
std::string key_place(const Manifest& manifest, const std::string& key) {
  const Location at = manifest.at(key);
  return escaped(std::filesystem::path(at.file).filename().string()) + ":" + std::to_string(at.line) + ": ";
}

}  // namespace

std::vector<std::string> unreached_steps(const Manifest& manifest) {
  if (!manifest.run.max_steps) return {};
  const std::int64_t last = *manifest.run.max_steps;
  const std::string end = ", and the run ends at max_steps = " + std::to_string(last) + ": ";
  std::vector<std::string> warnings;
  if (const std::int64_t warmup = manifest.optimizer.learning_rate.warmup_steps; warmup > last)
    warnings.push_back(key_place(manifest, "optimizer.learning_rate.warmup_steps") + "warmup_steps is " +
                       std::to_string(warmup) + end +
                       "the learning rate never comes to its value; lower warmup_steps, or raise max_steps");
  const std::vector<VariableGroup>& groups = manifest.optimizer.groups;
  for (std::size_t i = 0; i < groups.size(); ++i)
    if (groups[i].from_step >= last)
      warnings.push_back(key_place(manifest, "optimizer.groups." + std::to_string(i) + ".from_step") +
                         "from_step of the group \"" + escaped(groups[i].vars) + "\" is " +
                         std::to_string(groups[i].from_step) + end +
                         "the group is never trained; lower from_step, or set learning_rate_scale = 0");
  return warnings;
}

}  // namespace belay::runtime
