/* Nothing is wrong with this one. */
#include "minimal_hook.h"
