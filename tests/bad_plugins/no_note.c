/* A shared library that exports the symbol, but has no note. */
#define NO_NOTE
#include "minimal_hook.h"
