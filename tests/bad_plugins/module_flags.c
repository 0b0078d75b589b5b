// SPDX-License-Identifier: Apache-2.0
/* A flag that is not defined. */
#define MODULE_FLAGS 1
#include "minimal_hook.h"
