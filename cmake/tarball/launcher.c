// SPDX-License-Identifier: Apache-2.0
// bin/belay of the tarball. It starts libexec/belay with the newer libstdc++: the system's, or the one of the tarball.
//
// A plugin that a newer compiler built needs the libstdc++ of that compiler, and a process has only one. So the
// system's is taken if it has what Belay needs, and the tarball's if it is missing or older.
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// The newest version of the tarball's libstdc++, and a symbol that has it. A test compares.
static const char kVersion[] = "GLIBCXX_3.4.30";
static const char kSymbol[] = "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE";

static int fail(const char* what, const char* why, const char* fix) {
  fprintf(stderr, "belay: %s: %s; %s\n", what, why, fix);
  return 127;
}

// The dynamic linker looks for libexec/belay's in the same places.
static int system_has_it(void) {
  void* library = dlopen("libstdc++.so.6", RTLD_LAZY);
  return library != NULL && dlvsym(library, kSymbol, kVersion) != NULL;
}

static int set_library_path(const char* folder) {
  const char* others = getenv("LD_LIBRARY_PATH");
  if (others == NULL || *others == '\0') return setenv("LD_LIBRARY_PATH", folder, 1);
  char* both = malloc(strlen(folder) + strlen(others) + 2);
  if (both == NULL) return -1;
  sprintf(both, "%s:%s", folder, others);
  const int status = setenv("LD_LIBRARY_PATH", both, 1);
  free(both);
  return status;
}

int main(int argc, char** argv) {
  (void)argc;
  static const char kFromHere[] = "/libexec/belay", kCxx[] = "/lib/belay/libstdc++";
  char path[PATH_MAX], program[PATH_MAX + sizeof(kFromHere)], folder[PATH_MAX + sizeof(kCxx)];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
  if (length <= 0) return fail("/proc/self/exe", strerror(errno), "belay finds its files by it: mount /proc");
  path[length] = '\0';
  for (int up = 0; up < 2; ++up) {
    char* slash = strrchr(path, '/');
    if (slash != NULL) *slash = '\0';
  }
  sprintf(program, "%s%s", path, kFromHere);
  sprintf(folder, "%s%s", path, kCxx);
  if (!system_has_it() && set_library_path(folder) != 0)
    return fail("LD_LIBRARY_PATH", strerror(errno), "give belay more memory");
  execv(program, argv);
  return fail(program, strerror(errno), "bin/belay needs the other folders of the tarball beside it: unpack all of it");
}
