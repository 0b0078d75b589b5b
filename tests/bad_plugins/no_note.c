// SPDX-License-Identifier: Apache-2.0
/* A shared library that exports the symbol, but has no note. That is seen before any of its code runs. */
#include <stdlib.h>
__attribute__((constructor)) static void run(void) { setenv("BELAY_TEST_NO_NOTE_RAN", "1", 1); }
#define NO_NOTE
#include "minimal_hook.h"
