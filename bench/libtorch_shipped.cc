// SPDX-License-Identifier: Apache-2.0
#include "bench/libtorch_use.h"

namespace bench {

void set_up_memory() {}

void clear_gradients(torch::optim::Optimizer& optimizer) { optimizer.zero_grad(); }

}  // namespace bench
