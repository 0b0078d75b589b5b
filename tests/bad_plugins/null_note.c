/* The module does not point at its note. */
#define MODULE_NOTE NULL
#include "minimal_hook.h"
