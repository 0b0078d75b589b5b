// SPDX-License-Identifier: Apache-2.0
// For the first line of the main function of a program that trains:
//
//   int main(int argc, char** argv) {
//     belay::bound_spinning(argv);
#pragma once

namespace belay {

// Limits the time that a kernel's threads spin while they wait for each other. By default OpenMP's threads spin for
// milliseconds. If anything else runs on the machine, a step then takes 10 to 30 times as long. OpenMP reads the limit
// from the environment, once, before main. If the user has set neither OMP_WAIT_POLICY nor GOMP_SPINCOUNT, this
// function sets GOMP_SPINCOUNT to 20 microseconds on this processor. Then it executes the program again with `argv`, in
// the same process. It returns in the second execution, or if that is not possible. So call it before threads, open
// files and everything else that would be lost. Without it a session with several threads logs a warning with the
// variable to set. [main]
void bound_spinning(char** argv);

}  // namespace belay
