// SPDX-License-Identifier: Apache-2.0
/* The note says 0.1, the module 0.2. */
#define MODULE_ABI_MINOR 2
#include "minimal_hook.h"
