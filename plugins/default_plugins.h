// The plugins that a run has without being told, linked into a program of one's own (target belay::default_plugins):
//
//   for (const belay_module* module : belay::default_plugins()) registry.add_linked(module);
#pragma once

#include <vector>

#include "belay/abi.h"

namespace belay {

// Hooks stop_at_step, step_counter, summary_saver, checkpoint_saver, nan_tensor, progress, logging_tensor; saver
// safetensors.
std::vector<const belay_module*> default_plugins();

}  // namespace belay
