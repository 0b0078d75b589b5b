// SPDX-License-Identifier: Apache-2.0
/* Another library that is not where it is looked for. */
__attribute__((visibility("default"))) int belay_test_other_absent(void) { return 1; }
