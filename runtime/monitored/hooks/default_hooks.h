// SPDX-License-Identifier: Apache-2.0
// The default hooks of a run.
#pragma once

#include <vector>

#include "runtime/manifest/manifest.h"

namespace belay::runtime {

// Returns a run's hooks in calling order. The defaults come first: stop_at_step, step_counter, summary_saver,
// checkpoint_saver, nan_tensor, json_lines and progress, if their sections ask for them. The manifest's hooks follow. A
// default that the manifest names too is there only once, as the manifest's. Without a run directory no hook counts,
// summarizes or saves.
std::vector<PluginUse> hooks_of_run(const Manifest& manifest);

// Returns those defaults that TensorFlow's MonitoredTrainingSession has: step_counter and summary_saver with
// `has_events`, checkpoint_saver with `has_checkpoints`. Each one needs a positive period.
std::vector<PluginUse> training_session_hooks(const SessionSettings& session, const CheckpointSettings& checkpoint,
                                              bool has_events, bool has_checkpoints);

}  // namespace belay::runtime
