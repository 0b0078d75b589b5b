// SPDX-License-Identifier: Apache-2.0
// The first line of the main of a program that trains:
//
//   int main(int argc, char** argv) {
//     belay::bound_spinning(argv);
#pragma once

namespace belay {

// The threads of a kernel wait for each other by spinning; left alone, OpenMP's spin for milliseconds, and where
// anything else runs on the machine a step takes 10 to 30 times as long. This bounds it. OpenMP reads the bound from
// the environment, once, before main: where the user has set neither OMP_WAIT_POLICY nor GOMP_SPINCOUNT, this sets
// GOMP_SPINCOUNT to what takes this processor 20 microseconds and executes the program again with `argv`, in the same
// process. It returns in the second one, or where that cannot be done. So it comes before threads, open files and
// anything else that would be lost. Without it a session with several threads logs a warning with the variable to set.
// [main]
void bound_spinning(char** argv);

}  // namespace belay
