// SPDX-License-Identifier: Apache-2.0
/* Upper case, and a path. */
#define NOTE_NAME "../Minimal"
#include "minimal_hook.h"
