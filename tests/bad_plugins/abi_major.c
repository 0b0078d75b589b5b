// SPDX-License-Identifier: Apache-2.0
/* Built for a later major. */
#define NOTE_ABI "[7, 0]"
#include "minimal_hook.h"
