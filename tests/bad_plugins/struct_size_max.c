// SPDX-License-Identifier: Apache-2.0
/* A size that cannot be. */
#define MODULE_STRUCT_SIZE UINT32_MAX
#include "minimal_hook.h"
