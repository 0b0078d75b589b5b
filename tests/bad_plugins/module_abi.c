// SPDX-License-Identifier: Apache-2.0
/* The note says 0.2, the module 0.3. */
#define MODULE_ABI_MINOR 3
#include "minimal_hook.h"
