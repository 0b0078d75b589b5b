// SPDX-License-Identifier: Apache-2.0
/* Two builds: the new one has version 3 of its symbol, the old one stops at 2. */
#ifdef BELAY_TEST_NEW
__attribute__((visibility("default"))) int belay_test_versioned_3(void) { return 3; }
#endif
__attribute__((visibility("default"))) int belay_test_versioned_2(void) { return 2; }
