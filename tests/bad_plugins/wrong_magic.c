// SPDX-License-Identifier: Apache-2.0
/* The module is something else. */
#define MODULE_MAGIC UINT64_C(0x1122334455667788)
#include "minimal_hook.h"
