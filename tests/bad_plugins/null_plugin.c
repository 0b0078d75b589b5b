// SPDX-License-Identifier: Apache-2.0
/* An entry that is null. */
#define PLUGIN_ENTRY NULL
#include "minimal_hook.h"
