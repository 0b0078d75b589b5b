/* A size that cannot be. */
#define MODULE_STRUCT_SIZE UINT32_MAX
#include "minimal_hook.h"
