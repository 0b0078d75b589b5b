/* No array of plugins, but a count. */
#define MODULE_PLUGINS NULL
#include "minimal_hook.h"
