// SPDX-License-Identifier: Apache-2.0
/* Memory of another library in the place of the plugins. */
#include <stdlib.h>
#define MODULE_PLUGINS (const belay_plugin* const*)(const void*)&qsort
#include "minimal_hook.h"
