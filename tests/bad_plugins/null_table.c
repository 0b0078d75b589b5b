// SPDX-License-Identifier: Apache-2.0
/* A plugin without a table. */
#define PLUGIN_TABLE NULL
#include "minimal_hook.h"
