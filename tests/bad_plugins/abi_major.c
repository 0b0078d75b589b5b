/* Built for a later major. */
#define NOTE_ABI "[7, 0]"
#include "minimal_hook.h"
