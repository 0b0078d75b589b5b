// SPDX-License-Identifier: Apache-2.0
/* Changes the locale and the rounding mode of the process that loads it. */
#include <fenv.h>
#include <locale.h>

__attribute__((constructor)) static void change(void) {
  setlocale(LC_ALL, "C.UTF-8");
  fesetround(FE_UPWARD);
}
#include "minimal_hook.h"
