// SPDX-License-Identifier: Apache-2.0
// The hooks that a run has without being asked.
#pragma once

#include <vector>

#include "runtime/manifest/manifest.h"

namespace belay::runtime {

// A run's hooks in calling order: the defaults (stop_at_step, step_counter, summary_saver, checkpoint_saver,
// nan_tensor, json_lines, progress, as the sections ask for them), then those of the manifest. A default that the
// manifest names too is left to it. Without a run directory there is nothing to count, summarize or save into.
std::vector<PluginUse> hooks_of_run(const Manifest& manifest);

// The defaults of TensorFlow's MonitoredTrainingSession among them: step_counter and summary_saver where there is a
// place for events, checkpoint_saver where there is one for checkpoints; each only with a positive period.
std::vector<PluginUse> training_session_hooks(const SessionSettings& session, const CheckpointSettings& checkpoint,
                                              bool has_events, bool has_checkpoints);

}  // namespace belay::runtime
