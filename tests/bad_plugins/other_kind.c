// SPDX-License-Identifier: Apache-2.0
/* The note has the kind hook, the module saver. */
#define PLUGIN_KIND BELAY_KIND_SAVER
#include "minimal_hook.h"
