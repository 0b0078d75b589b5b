// SPDX-License-Identifier: Apache-2.0
/* The note is not JSON. */
#define NOTE_TEXT "plugins: minimal"
#include "minimal_hook.h"
