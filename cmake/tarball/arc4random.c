// SPDX-License-Identifier: Apache-2.0
// libarc4random.so: what std::random_device of the tarball's libstdc++ calls if glibc is older than 2.36.
#include <stdint.h>
#include <sys/random.h>

uint32_t arc4random(void) {
  uint32_t number = 0;
  while (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number)) {
  }
  return number;
}
