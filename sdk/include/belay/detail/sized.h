// SPDX-License-Identifier: Apache-2.0
// Sized structs (abi.h, "Structs"). Both sides make, read and fill them with these functions.
//
//   auto args = sized<belay_run_args>();                     // before a call: ours, empty
//   belay_run_args room;
//   const belay_run_args& a = read_sized(theirs, room);      // in a call: theirs, as this side knows it
//   fill_sized(theirs, info);                                // in a call: answers into theirs
//   check_sized(args);                                       // after a call that may have filled ours
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include "belay/error.h"

namespace belay {
inline namespace v0 {
namespace detail {

// clang-format off
#define BELAY_EACH_SIZED(X)                                                                                          \
  X(belay_position) X(belay_node_def) X(belay_output_info) X(belay_node_info) X(belay_run_options) X(belay_run_args) \
  X(belay_run_values) X(belay_variable_info) X(belay_node_stats) X(belay_model_args) X(belay_op_node)                \
  X(belay_op_traits) X(belay_op_kernel_args) X(belay_op_run) X(belay_op_gradient_args) X(belay_saved)                \
  X(belay_optimizer_args) X(belay_schedule_args) X(belay_signature) X(belay_model_hook)                    \
  X(belay_export_plugin) X(belay_export_args) X(belay_cluster_place) X(belay_cluster_args) X(belay_collective)      \
  X(belay_learned)
// clang-format on

template <class T>
struct SizedName;  // ::value is the struct's name; only sized structs have it
#define BELAY_SIZED_NAME(type)                                                          \
  template <>                                                                           \
  struct SizedName<type> {                                                              \
    static constexpr const char* value = #type;                                         \
  };                                                                                    \
  static_assert(offsetof(type, struct_size) == 0 && offsetof(type, flags) == 4, #type); \
  static_assert(std::is_trivially_copyable_v<type> && sizeof(type) % alignof(type) == 0, #type);
BELAY_EACH_SIZED(BELAY_SIZED_NAME)
#undef BELAY_SIZED_NAME

inline constexpr std::uint32_t kSizedHead = 8;  // struct_size and flags, which each has

template <class T>
constexpr T sized() noexcept {
  static_assert(SizedName<T>::value != nullptr);
  T ours{};
  ours.struct_size = sizeof(T);
  return ours;
}

template <class T>
[[noreturn]] void refuse_size(std::uint32_t size) {
  fail(Code::kInvalidArgument,
       std::string(SizedName<T>::value) + " has struct_size " + std::to_string(size) +
           ": its owner sets it before the call (BELAY_INIT), and nothing changes it in the call");
}
template <class T>
void check_flags(const T& theirs, std::uint32_t known) {
  if ((theirs.flags & ~known) != 0)
    fail(Code::kUnimplemented, std::string(SizedName<T>::value) + " has the unknown flag " +
                                   std::to_string(theirs.flags & ~known) + "; this side was built before it");
}

// The rare case of read_sized.
template <class T>
__attribute__((noinline)) const T& read_other_size(const T* theirs, T& room, std::uint32_t known) {
  if (theirs == nullptr) fail(Code::kInvalidArgument, std::string(SizedName<T>::value) + " is null");
  if (theirs->struct_size < kSizedHead) refuse_size<T>(theirs->struct_size);
  check_flags(*theirs, known);
  room = T{};
  std::memcpy(&room, theirs, theirs->struct_size);
  return room;
}
// True if theirs has each field that this side knows, and no unknown flag. Each call of a step passes here. Most
// structs have this side's size and no flags, which takes one comparison.
template <class T>
bool is_whole(const T* theirs, std::uint32_t known = 0) noexcept {
  if (theirs == nullptr) return false;
  std::uint64_t head;
  std::memcpy(&head, theirs, sizeof(head));
  return head == sizeof(T) || (theirs->struct_size >= sizeof(T) && (theirs->flags & ~known) == 0);
}
// Returns theirs itself if it has each field that this side knows. Otherwise it returns a copy in `room`, with 0 in the
// missing fields. INVALID_ARGUMENT: null, or without a size. UNIMPLEMENTED: a flag that is not among `known`.
template <class T>
const T& read_sized(const T* theirs, T& room, std::uint32_t known = 0) {
  if (is_whole(theirs, known)) return *theirs;  // first and in the caller's code
  return read_other_size(theirs, room, known);
}

// Copies this side's struct into the other side's, as far as that extends; its struct_size stays.
template <class T>
void fill_sized(T* theirs, const T& ours) {
  if (theirs == nullptr) fail(Code::kInvalidArgument, std::string(SizedName<T>::value) + " is null");
  if (theirs->struct_size < kSizedHead) refuse_size<T>(theirs->struct_size);
  theirs->flags = ours.flags;
  char* to = reinterpret_cast<char*>(theirs) + kSizedHead;
  const char* from = reinterpret_cast<const char*>(&ours) + kSizedHead;
  if (theirs->struct_size >= sizeof(T)) {
    std::memcpy(to, from, sizeof(T) - kSizedHead);  // of constant size: each step calls this
  } else {
    std::memcpy(to, from, theirs->struct_size - kSizedHead);
  }
}

// Checks that the other side filled this side's struct field by field, if it filled it.
template <class T>
void check_sized(const T& ours, std::uint32_t known = 0) {
  if (ours.struct_size != sizeof(T)) refuse_size<T>(ours.struct_size);
  if ((ours.flags & ~known) != 0) check_flags(ours, known);
}

}  // namespace detail
}  // namespace v0
}  // namespace belay
