// SPDX-License-Identifier: Apache-2.0
#include "runtime/report/run_difference.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>

#include "runtime/checkpoint/format/index.h"
#include "runtime/checkpoint/format/names.h"
#include "runtime/checkpoint/read/run_state.h"
#include "runtime/estimator/replay/replay_plan.h"
#include "runtime/manifest/parse.h"
#include "runtime/manifest/show.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

using Values = std::map<std::string, std::string>;

// The state that a run left at a step. A part is empty if it left none.
struct LeftState {
  std::map<std::string, std::string> variables;  // form and checksum by name
  std::string digest;                            // of all variables
};

struct LeftRun {
  std::map<std::int64_t, LeftState> states;
  std::int64_t last_step = 0;
  Fingerprint fingerprint;
  std::vector<std::pair<std::string, std::string>> manifest;
};

std::map<std::string, std::string> variables_of(const CheckpointIndex& index) {
  std::map<std::string, std::string> variables;
  for (const TensorEntry& t : index.tensors) variables[t.name] = fmt::format("{} {}", form_text(t), t.crc32c);
  return variables;
}

void read_checkpoint(const OpenDirectory& run, const std::string& name, std::int64_t step, LeftRun& left, Logger& log) {
  try {
    const std::unique_ptr<OpenDirectory> checkpoint = run.open_directory(name);
    constexpr std::uint64_t kMostState = std::uint64_t{64} << 20;
    LeftState& state = left.states[step];
    state.variables = variables_of(parse_index(checkpoint->read(kIndexName, kMaxIndexBytes)));
    const std::string text = checkpoint->read(kStateName, kMostState);
    state.digest = digest_in_run_state(text);
    left.fingerprint = parse_run_state(text).fingerprint;
  } catch (const Error& e) {
    left.states.erase(step);
    log.warning("", single_quoted(run.path() + "/" + name) + " is passed over: " + e.what());
  }
}

void read_manifest_of(const OpenDirectory& run, LeftRun& left, Logger& log) {
  if (!run.exists(kManifestName)) return;
  Diagnostics problems;
  const Environment none = [](const std::string&) { return std::optional<std::string>(); };  // all values are filled in
  const std::string path = run.path() + "/" + std::string(kManifestName);
  const auto manifest = parse_manifest({path, run.read(kManifestName, kMaxManifestBytes)}, {}, none, problems);
  if (!manifest || !problems.empty()) {
    log.warning("", single_quoted(path) + " is of another version or damaged, and is not compared");
    return;
  }
  for (const ManifestValue& v : manifest_values(*manifest))
    left.manifest.emplace_back(v.section + "." + v.key, v.value);
}

LeftRun read_left(FileSystem& files, const std::string& path, Logger& log) {
  const std::unique_ptr<OpenDirectory> run = files.open_directory(path);
  const RunPast past = read_past(*run);
  LeftRun left;
  left.last_step = past.last_step();
  for (const auto& [step, name] : past.checkpoints) read_checkpoint(*run, name, step, left, log);
  for (const StepDigest& d : past.history.digests) left.states[d.step].digest = d.digest;
  read_manifest_of(*run, left, log);
  return left;
}

std::vector<DifferingSetting> differing(const std::vector<std::pair<std::string, std::string>>& a,
                                        const std::vector<std::pair<std::string, std::string>>& b) {
  const Values of_a(a.begin(), a.end()), of_b(b.begin(), b.end());
  std::vector<DifferingSetting> found;
  const auto value = [](const Values& of, const std::string& key) {
    const auto at = of.find(key);
    return at == of.end() ? std::string() : at->second;
  };
  for (const auto& [key, text] : a)
    if (value(of_b, key) != text) found.push_back({key, text, value(of_b, key)});
  for (const auto& [key, text] : b)
    if (!of_a.contains(key)) found.push_back({key, "", text});
  return found;
}

std::vector<std::pair<std::string, std::string>> texts_of(const Fingerprint& f) {
  return {{"threads", std::to_string(f.threads)},
          {"isa", f.isa},
          {"program", f.binary},
          {"seed", std::to_string(f.seed)},
          {"precision", f.precision},
          {"onednn", f.onednn},
          {"floating_point", f.floating_point},
          {"c_library", f.c_library}};
}

void compare_states(const LeftRun& a, const LeftRun& b, RunComparison& found) {
  for (const auto& [step, of_a] : a.states) {
    const auto at = b.states.find(step);
    if (at == b.states.end()) continue;
    const LeftState& of_b = at->second;
    const bool digests = !of_a.digest.empty() && !of_b.digest.empty();
    if (!digests && (of_a.variables.empty() || of_b.variables.empty())) continue;
    const bool equal = digests ? of_a.digest == of_b.digest : of_a.variables == of_b.variables;
    ++found.common_steps;
    if (equal && !found.first_different) found.last_equal = step;
    if (equal || found.first_different) continue;
    found.first_different = step;
    if (!of_a.variables.empty() && !of_b.variables.empty())
      for (const DifferingSetting& v :
           differing({of_a.variables.begin(), of_a.variables.end()}, {of_b.variables.begin(), of_b.variables.end()}))
        found.variables.push_back(v.key);
  }
}

}  // namespace

RunComparison difference_of_runs(FileSystem& files, const std::string& a, const std::string& b, Logger& log) {
  const LeftRun left_a = read_left(files, a, log), left_b = read_left(files, b, log);
  RunComparison found;
  found.manifest = differing(left_a.manifest, left_b.manifest);
  std::erase_if(found.manifest, [](const DifferingSetting& v) { return v.key == "run.dir"; });
  const auto& plugins_a = left_a.fingerprint.plugins;
  const auto& plugins_b = left_b.fingerprint.plugins;
  found.plugins = differing({plugins_a.begin(), plugins_a.end()}, {plugins_b.begin(), plugins_b.end()});
  found.fingerprint = differing(texts_of(left_a.fingerprint), texts_of(left_b.fingerprint));
  found.last_step_a = left_a.last_step;
  found.last_step_b = left_b.last_step;
  compare_states(left_a, left_b, found);
  return found;
}

}  // namespace belay::runtime
