// SPDX-License-Identifier: Apache-2.0
// The floating-point mode of a thread: rounding, traps, and the handling of denormals. All arithmetic but that of long
// double obeys one register, MXCSR (FPCR on aarch64). long double has the x87 control word.
//
// Kernels compute in one mode, KernelMode, in each thread of the team (runtime/ops/kernels/parallel.cc). Callbacks of
// plugins run in the mode of the calling thread. Their changes are undone (runtime/loader/instance/instance.h).
#pragma once

#include <cstdint>
#include <string>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace belay::runtime {

inline std::uint32_t vector_control() noexcept {
#if defined(__x86_64__)
  return _mm_getcsr();
#else
  std::uint64_t bits;
  __asm__ volatile("mrs %0, fpcr" : "=r"(bits));
  return static_cast<std::uint32_t>(bits);
#endif
}
inline void set_vector_control(std::uint32_t bits) noexcept {
#if defined(__x86_64__)
  _mm_setcsr(bits);
#else
  __asm__ volatile("msr fpcr, %0" : : "r"(std::uint64_t{bits}));
#endif
}
inline std::uint16_t x87_control() noexcept {
  std::uint16_t bits = 0;
#if defined(__x86_64__)
  __asm__ volatile("fnstcw %0" : "=m"(bits));
#endif
  return bits;
}
inline void set_x87_control([[maybe_unused]] std::uint16_t bits) noexcept {
#if defined(__x86_64__)
  __asm__ volatile("fnclex\n\tfldcw %0" : : "m"(bits));  // an old flag must not trap under the new mode
#endif
}

#if defined(__x86_64__)
inline constexpr std::uint32_t kVectorModeBits = 0xffc0;  // the others are sticky flags of past events, no mode
inline constexpr std::uint32_t kKernelMode = 0x9fc0;      // no traps, to nearest, flush to zero, denormals are zero
#else
inline constexpr std::uint32_t kVectorModeBits = 0xffffffff;
inline constexpr std::uint32_t kKernelMode = 1u << 24;
#endif

inline bool vector_mode_is(std::uint32_t mode) noexcept { return ((vector_control() ^ mode) & kVectorModeBits) == 0; }

// The mode of the thread at construction.
class VectorMode {
 public:
  VectorMode() noexcept : bits_(vector_control()) {}
  // Stores the thread's current mode in `found`, and restores the mode. Reading the register waits until all earlier
  // instructions have ended. Using the value waits as long again, so is(found) is cheaper later.
  void put_back(std::uint32_t& found) const noexcept {
#if defined(__x86_64__)
    __asm__ volatile("stmxcsr %0\n\tldmxcsr %1" : "=m"(found) : "m"(bits_));
#else
    found = vector_control();
    if (!is(found)) set_vector_control(bits_);
#endif
  }
  bool is(std::uint32_t found) const noexcept { return ((found ^ bits_) & kVectorModeBits) == 0; }
  std::uint32_t bits() const noexcept { return bits_; }

 private:
  std::uint32_t bits_;
};

// Returns the changed parts of a mode: "the floating-point mode (rounding, traps)".
std::string mode_change_text(std::uint32_t vector_before, std::uint32_t vector_after, bool x87_changed);

// While it lives, this thread computes like kernels: to nearest and without traps. Its earlier mode does not matter. A
// number too small for its type's full precision is 0. Such denormals take a processor a hundred times as long.
class KernelMode {
 public:
  KernelMode() noexcept : before_(vector_control()) { set_vector_control(kKernelMode); }
  ~KernelMode() { set_vector_control(before_); }
  KernelMode(const KernelMode&) = delete;
  KernelMode& operator=(const KernelMode&) = delete;

 private:
  const std::uint32_t before_;
};

// Describes KernelMode for a checkpoint's fingerprint.
inline constexpr const char* kKernelModeText = "denormals flushed";

}  // namespace belay::runtime
