// SPDX-License-Identifier: Apache-2.0
/* The note lists nothing. */
#define NOTE_PLUGIN ""
#define MODULE_N_PLUGINS 0
#include "minimal_hook.h"
