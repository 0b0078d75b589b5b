// SPDX-License-Identifier: Apache-2.0
// OpenMP runtimes in this process. Each has a pool of threads of its own, so two of them share the cores badly, and the
// host's setting of the number of threads reaches only its own.
#pragma once

#include <string>
#include <vector>

namespace belay::runtime {

// Paths of those that are loaded now (GNU's libgomp, LLVM's libomp, Intel's libiomp5), sorted.
std::vector<std::string> loaded_openmp_runtimes();

}  // namespace belay::runtime
