// SPDX-License-Identifier: Apache-2.0
// Loops that are also compiled for newer processors. The program runs the fastest version that the machine supports.
#pragma once

#include <type_traits>
#include <utility>

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && \
    !defined(BELAY_OLD_PROCESSOR)
#define BELAY_HOT_VERSIONS
// The compiler makes all versions of a function with this mark. Functions that it calls must be inlined into it.
#define BELAY_HOT __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
// These mark one version, if versions differ by more than the compiler's choice. hot_level() selects the one to call.
#define BELAY_AVX2 __attribute__((target("arch=x86-64-v3")))
#define BELAY_AVX512 __attribute__((target("arch=x86-64-v4")))
#else
#define BELAY_HOT
#endif

namespace belay::runtime {

enum class HotLevel { kBase, kAvx2, kAvx512 };

// Returns the version that this machine runs.
inline HotLevel hot_level() {
#ifdef BELAY_HOT_VERSIONS
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    return HotLevel::kAvx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
      __builtin_cpu_supports("bmi2"))
    return HotLevel::kAvx2;
#endif
  return HotLevel::kBase;
}

template <auto loop>
struct HotVersions;
template <class R, class... P, R (*loop)(P...)>
struct HotVersions<loop> {
  BELAY_HOT static R run(P... args) { return loop(args...); }
};

// Calls a loop. If T, the type of its elements, is float, it calls the version for this machine:
//
//   template <class T>
//   [[gnu::always_inline]] inline void scale(T* x, std::int64_t n, T by) {...}
//   hot<T, scale<T>>(x, n, by);
//
// Loops are always_inline: each version has a separate copy, compiled for its processors.
template <class T, auto loop, class... Args>
[[gnu::always_inline]] inline auto hot(Args&&... args) {
  if constexpr (std::is_same_v<T, float>) {
    return HotVersions<loop>::run(std::forward<Args>(args)...);
  } else {
    return loop(std::forward<Args>(args)...);
  }
}

}  // namespace belay::runtime
