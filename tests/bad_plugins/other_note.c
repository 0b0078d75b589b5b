// SPDX-License-Identifier: Apache-2.0
/* The module points at other bytes than the note. */
#define MODULE_NOTE other_text
static const char other_text[1024] = "{}";
#include "minimal_hook.h"
