// SPDX-License-Identifier: Apache-2.0
/* A mandatory slot is null. */
#define TABLE_CREATE NULL
#include "minimal_hook.h"
