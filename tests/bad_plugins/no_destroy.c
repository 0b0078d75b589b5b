// SPDX-License-Identifier: Apache-2.0
/* A table cut in the middle of a slot: that slot is absent. */
#define TABLE_STRUCT_SIZE (offsetof(belay_hook_api, destroy) + 4)
#include "minimal_hook.h"
