// SPDX-License-Identifier: Apache-2.0
/* Is found, but needs one that is not. */
int belay_test_other_absent(void);
__attribute__((visibility("default"))) int belay_test_middle(void);
int belay_test_middle(void) { return belay_test_other_absent(); }
