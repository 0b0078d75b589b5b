// SPDX-License-Identifier: Apache-2.0
// How bench/libtorch_peer.cc uses libtorch: as Debian ships it and its examples use it (libtorch_shipped.cc), or as an
// expert would (libtorch_tuned.cc).
#pragma once

#include <torch/optim/optimizer.h>

namespace bench {

// First in main.
void set_up_memory();
// Before each step.
void clear_gradients(torch::optim::Optimizer& optimizer);

}  // namespace bench
