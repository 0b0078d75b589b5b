// SPDX-License-Identifier: Apache-2.0
/* Memory of another library in the place of the note. */
#include <stdlib.h>
#define MODULE_NOTE (const char*)(const void*)&qsort
#include "minimal_hook.h"
