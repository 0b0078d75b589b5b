// SPDX-License-Identifier: Apache-2.0
/* A flag that nobody has defined. */
#define MODULE_FLAGS 1
#include "minimal_hook.h"
