// SPDX-License-Identifier: Apache-2.0
/* No such kind. */
#define NOTE_KIND "hooks"
#include "minimal_hook.h"
