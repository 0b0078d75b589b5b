// SPDX-License-Identifier: Apache-2.0
/* Built for another C library. */
int belay_test_musl(void);
__attribute__((used)) static int call(void) { return belay_test_musl(); }
#include "minimal_hook.h"
