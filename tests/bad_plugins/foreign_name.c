// SPDX-License-Identifier: Apache-2.0
/* Memory of another library in the place of the name. */
#include <stdlib.h>
#define PLUGIN_NAME (const char*)(const void*)&qsort
#include "minimal_hook.h"
