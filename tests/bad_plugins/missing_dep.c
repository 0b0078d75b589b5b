// SPDX-License-Identifier: Apache-2.0
/* Needs a library that is not there. */
int belay_test_absent(void);
__attribute__((used)) static int call(void) { return belay_test_absent(); }
#include "minimal_hook.h"
