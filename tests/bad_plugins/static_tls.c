// SPDX-License-Identifier: Apache-2.0
/* More initial-exec thread-local storage than the C library has set aside. */
static __thread char storage[1 << 20] __attribute__((tls_model("initial-exec")));
__attribute__((used)) static char* use(void) { return storage; }
#include "minimal_hook.h"
