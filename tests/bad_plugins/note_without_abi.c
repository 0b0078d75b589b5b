// SPDX-License-Identifier: Apache-2.0
/* The note does not say for which ABI it is. */
#define NOTE_TEXT "{\"version\": \"1.0.0\", \"plugins\": []}"
#include "minimal_hook.h"
