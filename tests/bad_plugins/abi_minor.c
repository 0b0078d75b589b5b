// SPDX-License-Identifier: Apache-2.0
/* Built for a later minor. */
#define NOTE_ABI "[0, 99]"
#include "minimal_hook.h"
