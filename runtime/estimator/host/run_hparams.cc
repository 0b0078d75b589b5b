// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/host/run_hparams.h"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/events/hparams.h"
#include "runtime/manifest/show.h"

namespace belay::runtime {
namespace {

double seconds_now(const Clock& clock) { return static_cast<double>(clock.wall_ns()) * 1e-9; }

// The TOML of manifest_values is JSON as well, except inf and nan, which stay text.
HParam hparam_of(const ManifestValue& v) {
  const std::string key = v.section + "." + v.key;
  const nlohmann::json value = nlohmann::json::parse(v.value, nullptr, false);
  if (value.is_boolean()) return {key, value.get<bool>()};
  if (value.is_number()) return {key, value.get<double>()};
  if (value.is_string()) return {key, value.get<std::string>()};
  return {key, v.value};
}

}  // namespace

void write_run_hparams(EventWriter& events, const Clock& clock, const Manifest& manifest) {
  std::vector<HParam> options;
  for (const ManifestValue& v : manifest_values(manifest)) options.push_back(hparam_of(v));
  events.add_summary(hparams_of_start(options, seconds_now(clock)), 0);
}

void write_run_end(EventWriter& events, const Clock& clock, bool success) {
  events.add_summary(hparams_of_end(success, seconds_now(clock)), 0);
  events.flush();
}

}  // namespace belay::runtime
