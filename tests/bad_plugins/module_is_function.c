// SPDX-License-Identifier: Apache-2.0
/* The symbol with the module's name is code. */
#define NO_MODULE
#include "minimal_hook.h"
int belay_module_v0_stand_in(void) __asm__("belay_module_v0") __attribute__((visibility("default")));
int belay_module_v0_stand_in(void) { return 1; }
