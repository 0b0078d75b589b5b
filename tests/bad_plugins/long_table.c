// SPDX-License-Identifier: Apache-2.0
/* A table of a later minor, longer than the host knows: loads. */
#define TABLE_STRUCT_SIZE UINT32_MAX
#include "minimal_hook.h"
