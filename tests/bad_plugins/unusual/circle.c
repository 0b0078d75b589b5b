// SPDX-License-Identifier: Apache-2.0
/* One of two plugins that need each other: it returns the other one's name. */
__attribute__((visibility("default"))) const char* OWN(void);
const char* OWN(void) { return WHO; }
const char* OTHER(void);

#define belay_test_who OTHER
#include "says.h"
