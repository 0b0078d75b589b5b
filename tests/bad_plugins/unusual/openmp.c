// SPDX-License-Identifier: Apache-2.0
/* Needs another OpenMP runtime than the plugin beside it. */
#include "says.h"
