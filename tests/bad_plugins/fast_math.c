// SPDX-License-Identifier: Apache-2.0
/* Linked with -ffast-math, which sets flush-to-zero on the thread that loads it. */
#include "minimal_hook.h"
