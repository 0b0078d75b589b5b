// SPDX-License-Identifier: Apache-2.0
// Every test of a plugin can count allocations; the functions that count are there once in each program.
#include <belay/testing/allocations.h>

BELAY_COUNT_ALLOCATIONS
