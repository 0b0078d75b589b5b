// SPDX-License-Identifier: Apache-2.0
/* The module does not point at its note. */
#define MODULE_NOTE NULL
#include "minimal_hook.h"
