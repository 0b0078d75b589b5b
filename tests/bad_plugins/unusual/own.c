// SPDX-License-Identifier: Apache-2.0
/* Defines the function itself, for everybody to see. So does the plugin beside it. */
#include "says.h"
#include "who.c"
