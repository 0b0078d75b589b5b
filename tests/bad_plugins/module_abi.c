// SPDX-License-Identifier: Apache-2.0
/* The note says 0.3, the module 0.4. */
#define MODULE_ABI_MINOR 4
#include "minimal_hook.h"
