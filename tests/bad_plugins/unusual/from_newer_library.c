// SPDX-License-Identifier: Apache-2.0
/* Has a function that one of several libraries of the same SONAME has. */
#define belay_test_who belay_test_newer
#include "says.h"
