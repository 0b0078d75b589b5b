// SPDX-License-Identifier: Apache-2.0
/* The function, in a library or in a plugin. */
__attribute__((visibility("default"))) const char* belay_test_who(void);
const char* belay_test_who(void) { return WHO; }
#ifdef NEWER
__attribute__((visibility("default"))) const char* belay_test_newer(void);
const char* belay_test_newer(void) { return WHO; }
#endif
