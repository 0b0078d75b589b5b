/* The note promises a plugin; nothing is exported. */
#define NO_MODULE
#include "minimal_hook.h"
