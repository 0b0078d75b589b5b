// Marks a function with loops worth compiling for newer processors too: the fastest version that the machine supports
// is chosen when the program starts. What it calls must be inlined into it.
#pragma once

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && \
    !defined(BELAY_OLD_PROCESSOR)
#define BELAY_HOT __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define BELAY_HOT
#endif
