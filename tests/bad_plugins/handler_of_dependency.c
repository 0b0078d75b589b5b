// SPDX-License-Identifier: Apache-2.0
/* Needs a library that installs a handler of SIGHUP, and installs one of SIGUSR1 itself. */
#include <signal.h>

int belay_test_handler(void);
static void handle(int signal) { (void)signal; }
__attribute__((constructor)) static void install(void) {
  if (belay_test_handler()) signal(SIGUSR1, handle);
}
#include "minimal_hook.h"
