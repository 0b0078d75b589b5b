// SPDX-License-Identifier: Apache-2.0
/* Has the name of another system's C library. */
__attribute__((visibility("default"))) int belay_test_musl(void);
int belay_test_musl(void) { return 1; }
