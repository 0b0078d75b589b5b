// SPDX-License-Identifier: Apache-2.0
/* Memory of another library in the place of the table. */
#include <stdlib.h>
#define PLUGIN_TABLE (const void*)&qsort
#include "minimal_hook.h"
