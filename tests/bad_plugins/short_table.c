// SPDX-License-Identifier: Apache-2.0
/* A table that ends before its first slot. */
#define TABLE_STRUCT_SIZE 4
#include "minimal_hook.h"
