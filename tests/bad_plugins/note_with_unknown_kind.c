/* No such kind. */
#define NOTE_KIND "hooks"
#include "minimal_hook.h"
