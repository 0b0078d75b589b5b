// SPDX-License-Identifier: Apache-2.0
/* Renamed in the code, not in the note. */
#define PLUGIN_NAME "maximal"
#include "minimal_hook.h"
