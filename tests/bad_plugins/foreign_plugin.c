// SPDX-License-Identifier: Apache-2.0
/* Memory of another library in the place of the plugin. */
#include <stdlib.h>
#define PLUGIN_ENTRY (const belay_plugin*)(const void*)&qsort
#include "minimal_hook.h"
