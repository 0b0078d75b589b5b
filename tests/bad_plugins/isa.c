// SPDX-License-Identifier: Apache-2.0
/* Compiled for instructions that no processor has. */
#define NOTE_ISA "[\"sse2_of_the_future\", \"avx9\"]"
#include "minimal_hook.h"
