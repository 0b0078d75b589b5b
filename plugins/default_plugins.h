// SPDX-License-Identifier: Apache-2.0
// The plugins of Belay that need no other files, linked into a program (target belay::default_plugins):
//
//   belay::OwnedGraph graph(belay::default_plugins());
#pragma once

#include <vector>

#include "belay/abi.h"

namespace belay {

// Returns these plugins: the default hooks, and the others of TensorFlow's (early_stopping, feed_fn, final_ops,
// global_step_waiter, logging_tensor, profiler, stop_after_n_evals, stop_at_checkpoint_step, summary_at_end). Also
// time_limit; the savers safetensors, tf_bundle and npz; the exporters onnx and safetensors; the init functions assign,
// embedding_file and warm_start; and all optimizers and schedules.
std::vector<const belay_module*> default_plugins();

}  // namespace belay
