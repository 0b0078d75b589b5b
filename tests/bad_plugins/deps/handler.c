// SPDX-License-Identifier: Apache-2.0
/* A library that installs a handler when it is loaded, as UCX does. */
#include <signal.h>

static void handle(int signal) { (void)signal; }
__attribute__((constructor)) static void install(void) { signal(SIGHUP, handle); }
__attribute__((visibility("default"))) int belay_test_handler(void) { return 1; }
