// SPDX-License-Identifier: Apache-2.0
/* The note promises a plugin; nothing is exported. */
#define NO_MODULE
#include "minimal_hook.h"
