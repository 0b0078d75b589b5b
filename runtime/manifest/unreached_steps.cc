// SPDX-License-Identifier: Apache-2.0
#include "runtime/manifest/unreached_steps.h"

#include <fmt/core.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>

#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

// Returns "train.toml:12: ".
std::string key_place(const Manifest& manifest, const std::string& key) {
  const Location at = manifest.at(key);
  return fmt::format("{}:{}: ", escaped(std::filesystem::path(at.file).filename().string()), at.line);
}

}  // namespace

std::vector<std::string> unreached_steps(const Manifest& manifest) {
  if (!manifest.run.max_steps) return {};
  const std::int64_t last = *manifest.run.max_steps;
  const std::string end = fmt::format(", and the run ends at max_steps = {}: ", last);
  std::vector<std::string> warnings;
  if (const std::int64_t warmup = manifest.optimizer.learning_rate.warmup_steps; warmup > last)
    warnings.push_back(fmt::format(
        "{}warmup_steps is {}{}the learning rate never comes to its value; lower warmup_steps, or raise max_steps",
        key_place(manifest, "optimizer.learning_rate.warmup_steps"), warmup, end));
  const std::vector<VariableGroup>& groups = manifest.optimizer.groups;
  for (std::size_t i = 0; i < groups.size(); ++i)
    if (groups[i].from_step >= last)
      warnings.push_back(
          fmt::format("{}from_step of the group \"{}\" is {}{}the group is never trained; lower from_step, or set "
                      "learning_rate_scale = 0",
                      key_place(manifest, fmt::format("optimizer.groups.{}.from_step", i)), escaped(groups[i].vars),
                      groups[i].from_step, end));
  return warnings;
}

}  // namespace belay::runtime
