// SPDX-License-Identifier: Apache-2.0
// Two run directories beside each other: whether the same training was made in both, and if not, up to where.
//
//   const belay::RunComparison c = belay::compare_runs("runs/a", "runs/b");
//   if (!c.same()) std::fputs(c.text().c_str(), stderr);
//
// It compares what both left at the same steps: the digests of all variables in the checkpoints' states and in
// metrics.jsonl (the hook state_digest), else the checksums of the variables in the checkpoints' indexes. Equal digests
// of 128 bits mean equal bits. Nothing of a step between two of them is known: `belay bisect` replays those. Hooks'
// states, events and logs are not compared.
//
// The directories are only read: no variable, no plugin, no lock. A training may go on in them. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace belay {

// A key that has another value in the other run.
struct DifferingSetting {
  // "optimizer.learning_rate" of a manifest, "model:mlp" of the plugins, "threads" of a fingerprint.
  std::string key;
  // As TOML writes it, or a plugin's build id. Empty: it is not there.
  std::string a, b;
};

struct RunComparison {
  // Of the last attempts' manifests, but for run.dir; of the plugins' builds; of threads, instruction set, program,
  // seed, precision: in the newest checkpoints. None of these alone makes two runs differ.
  std::vector<DifferingSetting> manifest, plugins, fingerprint;
  // The last step that each is known to have made.
  std::int64_t last_step_a = 0, last_step_b = 0;
  // At how many steps both left something to compare.
  std::size_t common_steps = 0;
  // Of those steps: the last one before the first that differs, and that first one.
  std::optional<std::int64_t> last_equal, first_different;
  // Names of the variables that differ at `first_different`, sorted; empty where one of the runs left a digest alone.
  std::vector<std::string> variables;

  // Something was compared, all of it is equal, and both came equally far.
  bool same() const noexcept { return common_steps != 0 && !first_different && last_step_a == last_step_b; }
  // One sentence for people: how far they are equal, and what differs then.
  std::string text() const;
};

// Paths of run directories. NOT_FOUND where one of them holds neither checkpoints nor metrics.jsonl. A checkpoint that
// cannot be read is passed over, with a warning on standard error.
RunComparison compare_runs(const std::string& a, const std::string& b);

}  // namespace belay
