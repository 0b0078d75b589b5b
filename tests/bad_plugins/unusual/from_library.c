// SPDX-License-Identifier: Apache-2.0
/* Has the function from a library. The build chooses the library. */
#include "says.h"
