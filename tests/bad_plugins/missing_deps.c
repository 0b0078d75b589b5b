// SPDX-License-Identifier: Apache-2.0
/* Needs two libraries that are not there, one of them through a third that is. */
int belay_test_absent(void);
int belay_test_middle(void);
__attribute__((used)) static int call(void) { return belay_test_middle() + belay_test_absent(); }
#include "minimal_hook.h"
