// SPDX-License-Identifier: Apache-2.0
/* Stands for the C library of another system, by its name. */
__attribute__((visibility("default"))) int belay_test_musl(void);
int belay_test_musl(void) { return 1; }
