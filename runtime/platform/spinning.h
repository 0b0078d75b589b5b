// SPDX-License-Identifier: Apache-2.0
// How long the threads of OpenMP's team spin while they wait for each other. libgomp, left alone, spins for
// milliseconds: on a machine where anything else runs, the thread that is waited for has no processor meanwhile, and a
// step takes 10 to 30 times as long.
#pragma once

#include <string>

namespace belay::runtime {

// For GOMP_SPINCOUNT: how many pauses of this processor take 20 microseconds, in hundreds, 100 to 20,000. Processors
// differ: a pause takes 10 to 60 nanoseconds. Measured at each call, so two calls may differ.
int spins_of_a_wait();

// Bounds it, for good: libgomp reads the bound from the environment, once, before main. So where the user has set
// neither OMP_WAIT_POLICY nor GOMP_SPINCOUNT this sets GOMP_SPINCOUNT and executes the program again, with `argv` and
// in the same process; it returns in the second one, or where that cannot be done. First in main, before there are
// threads, open files or anything else that would be lost:
//
//   int main(int argc, char** argv) {
//     belay::runtime::bound_spinning(argv);
void bound_spinning(char** argv);

// The warning that a run with so many threads needs; empty: none.
std::string spinning_warning(int threads);

}  // namespace belay::runtime
