// SPDX-License-Identifier: Apache-2.0
/* A byte that is no UTF-8 in the note. */
#define NOTE_NAME "mini\xffmal"
#include "minimal_hook.h"
