// SPDX-License-Identifier: Apache-2.0
/* Its initializer writes to the file that the environment names. */
#include <stdio.h>
#include <stdlib.h>

#include "minimal_hook.h"

__attribute__((constructor)) static void change(void) {
  const char* path = getenv("BELAY_TEST_CHANGES");
  FILE* file = path == NULL ? NULL : fopen(path, "a");
  if (file == NULL) return;
  fputc('x', file);
  fclose(file);
}
