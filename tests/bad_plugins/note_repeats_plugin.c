// SPDX-License-Identifier: Apache-2.0
/* The same plugin twice in one library. */
#define NOTE_ONE "{\"kind\": \"hook\", \"name\": \"minimal\"}"
#define NOTE_PLUGIN NOTE_ONE ", " NOTE_ONE
#include "minimal_hook.h"
