// SPDX-License-Identifier: Apache-2.0
/* One of two plugins that need each other: it says what the other one is called. */
__attribute__((visibility("default"))) const char* OWN(void);
const char* OWN(void) { return WHO; }
const char* OTHER(void);

#define belay_test_who OTHER
#include "says.h"
