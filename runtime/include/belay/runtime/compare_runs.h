// SPDX-License-Identifier: Apache-2.0
// Compares two run directories: do both contain the same training, and if not, up to which step?
//
//   const belay::RunComparison c = belay::compare_runs("runs/a", "runs/b");
//   if (!c.same()) std::fputs(c.text().c_str(), stderr);
//
// It compares the records of both at the same steps: the digests of all variables in the checkpoints' states and in
// metrics.jsonl (the hook state_digest). Without digests it compares the checksums of the variables in the checkpoints'
// indexes. Equal digests of 128 bits mean equal bits. Steps between two records are not known: `belay bisect` replays
// those. Hooks' states, events and logs are not compared.
//
// It only reads the directories: no variable, no plugin, no lock. A training may continue in them. It works on any
// thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace belay {

// A key with different values in the two runs.
struct DifferingSetting {
  // "optimizer.learning_rate" of a manifest, "model:mlp" of the plugins, "threads" of a fingerprint.
  std::string key;
  // The value as TOML, or a plugin's build id. Empty: the run does not have the key.
  std::string a, b;
};

// The result of compare_runs.
struct RunComparison {
  // Differences between the last attempts' manifests (without run.dir), between the plugins' builds, and between the
  // newest checkpoints' fingerprints: threads, instruction set, program, seed, precision. None of these alone makes two
  // runs differ.
  std::vector<DifferingSetting> manifest, plugins, fingerprint;
  // The last step that each run is known to have made.
  std::int64_t last_step_a = 0, last_step_b = 0;
  // Number of steps at which both have a record.
  std::size_t common_steps = 0;
  // The last equal one of these steps before the first difference, and the first different one.
  std::optional<std::int64_t> last_equal, first_different;
  // Names of the variables that differ at `first_different`, sorted. Empty if one of the runs has only a digest.
  std::vector<std::string> variables;

  // True if there was something to compare, all of it is equal, and both made the same number of steps.
  bool same() const noexcept { return common_steps != 0 && !first_different && last_step_a == last_step_b; }
  // One sentence for people: the last equal step, and the difference after it.
  std::string text() const;
};

// Takes paths of run directories. A checkpoint that cannot be read is skipped, with a warning on standard error.
// NOT_FOUND: one of them has neither checkpoints nor metrics.jsonl.
RunComparison compare_runs(const std::string& a, const std::string& b);

}  // namespace belay
