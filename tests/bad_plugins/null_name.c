// SPDX-License-Identifier: Apache-2.0
/* A plugin without a name. */
#define PLUGIN_NAME NULL
#include "minimal_hook.h"
