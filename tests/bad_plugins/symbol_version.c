// SPDX-License-Identifier: Apache-2.0
/* Linked against a newer library than the one that it finds. */
int belay_test_versioned_3(void);
__attribute__((used)) static int call(void) { return belay_test_versioned_3(); }
#include "minimal_hook.h"
