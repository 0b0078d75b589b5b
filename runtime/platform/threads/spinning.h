// SPDX-License-Identifier: Apache-2.0
// Sets how long the threads of OpenMP's team spin while they wait for each other. By default libgomp spins for
// milliseconds. If anything else runs on the machine, the awaited thread has no processor meanwhile. Then a step takes
// 10 to 30 times as long.
#pragma once

#include <string>

namespace belay::runtime {

// Returns a value for GOMP_SPINCOUNT: the number of pauses in 20 microseconds, in hundreds, 100 to 20,000. Processors
// differ: a pause takes 10 to 60 nanoseconds. It measures at each call, so two calls may differ.
int spins_of_a_wait();

// Bounds the spinning for good. libgomp reads the bound from the environment once, before main. So if the user has set
// neither OMP_WAIT_POLICY nor GOMP_SPINCOUNT, this sets GOMP_SPINCOUNT. Then it executes the program again, with `argv`
// and in the same process. It returns in the second one, or if that is not possible. Call it first in main, before
// there are threads, open files or anything else that would be lost:
//
//   int main(int argc, char** argv) {
//     belay::runtime::bound_spinning(argv);
void bound_spinning(char** argv);

// Returns the warning for a run with this many threads; empty: none.
std::string spinning_warning(int threads);

}  // namespace belay::runtime
