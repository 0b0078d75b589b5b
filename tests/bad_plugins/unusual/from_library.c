// SPDX-License-Identifier: Apache-2.0
/* Has the function from a library; from which one, the build says. */
#include "says.h"
