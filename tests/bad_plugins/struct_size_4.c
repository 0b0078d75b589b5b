// SPDX-License-Identifier: Apache-2.0
/* A size that ends inside the head. */
#define MODULE_STRUCT_SIZE 4
#include "minimal_hook.h"
