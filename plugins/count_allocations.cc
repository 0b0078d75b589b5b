// SPDX-License-Identifier: Apache-2.0
// Every test of a plugin can count allocations; each program has the counting functions once.
#include <belay/testing/allocations.h>

BELAY_COUNT_ALLOCATIONS
