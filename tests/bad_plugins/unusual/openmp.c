/* Needs another OpenMP runtime than the plugin beside it. */
#include "says.h"
