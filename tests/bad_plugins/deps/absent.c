// SPDX-License-Identifier: Apache-2.0
/* The library that is not where the plugins look for it. */
__attribute__((visibility("default"))) int belay_test_absent(void) { return 1; }
