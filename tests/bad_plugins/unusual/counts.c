// SPDX-License-Identifier: Apache-2.0
/* Says how often the statics of counted.cc were used. */
#include "says.h"
