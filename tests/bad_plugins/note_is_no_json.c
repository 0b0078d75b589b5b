// SPDX-License-Identifier: Apache-2.0
/* The note is some text. */
#define NOTE_TEXT "plugins: minimal"
#include "minimal_hook.h"
