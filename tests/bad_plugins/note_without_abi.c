// SPDX-License-Identifier: Apache-2.0
/* The note does not name its ABI. */
#define NOTE_TEXT "{\"version\": \"1.0.0\", \"plugins\": []}"
#include "minimal_hook.h"
