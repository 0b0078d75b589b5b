// SPDX-License-Identifier: Apache-2.0
/* No array of plugins, but a count. */
#define MODULE_PLUGINS NULL
#include "minimal_hook.h"
