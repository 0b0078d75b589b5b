// SPDX-License-Identifier: Apache-2.0
// OpenMP runtimes in this process. Each has a separate pool of threads. So two of them share the cores badly, and the
// host's number of threads reaches only its own.
#pragma once

#include <string>
#include <vector>

namespace belay::runtime {

// Returns the paths of the loaded ones (GNU's libgomp, LLVM's libomp, Intel's libiomp5), sorted.
std::vector<std::string> loaded_openmp_runtimes();

}  // namespace belay::runtime
