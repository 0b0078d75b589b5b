// SPDX-License-Identifier: Apache-2.0
/* Forgot to set the size. */
#define MODULE_STRUCT_SIZE 0
#include "minimal_hook.h"
