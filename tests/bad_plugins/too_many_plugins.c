// SPDX-License-Identifier: Apache-2.0
/* A count that would run far over the end. */
#define MODULE_N_PLUGINS (UINT64_C(1) << 32)
#include "minimal_hook.h"
