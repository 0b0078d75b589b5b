// SPDX-License-Identifier: Apache-2.0
/* The note has ABI 0.4, the module 0.5. */
#define MODULE_ABI_MINOR 5
#include "minimal_hook.h"
