// SPDX-License-Identifier: Apache-2.0
/* An initializer that waits for a thread which loads a library: the dynamic linker's lock is held while initializers
 * run, so both wait for ever. */
#include <dlfcn.h>
#include <pthread.h>

#include "../minimal_hook.h"

static void* load_another(void* unused) {
  (void)unused;
  return dlopen("libm.so.6", RTLD_NOW);
}

__attribute__((constructor)) static void wait_for_it(void) {
  pthread_t thread;
  if (pthread_create(&thread, 0, load_another, 0) == 0) pthread_join(thread, 0);
}
