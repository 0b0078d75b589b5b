// SPDX-License-Identifier: Apache-2.0
// A service's slot for plugins. It checks pointers, lists and texts before the function runs. So a visible fault is an
// error of the call, not a crash of the host.
//
//   constexpr belay_graph_api kGraphApi{..., checked<add_node, detail::name_of_graph_add_node>, ...};
//
// The types decide about the checks. A handle, an out parameter, a function and a struct must not be null. A const or
// void pointer followed by a number is a list of that length. For dims the rank comes first. A text has data. A sized
// struct checks itself (belay/detail/sized.h), and a belay_host is a number. A slot without a status does nothing and
// returns 0. A copy of the process that calls the host ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "belay/detail/given.h"
#include "belay/detail/tables.h"
#include "runtime/platform/memory/is_sized.h"
#include "runtime/platform/process/process_copy.h"

namespace belay::runtime {

template <auto f, const char* name, unsigned may_be_null, bool in_copies>
class CheckedSlot;

// Bit i of may_be_null: argument i, counted from 0, may be null.
template <class R, class... A, R (*f)(A...), const char* name, unsigned may_be_null, bool in_copies>
class CheckedSlot<f, name, may_be_null, in_copies> {
 public:
  static R call(A... args) {
    if (!in_copies && is_process_copy()) [[unlikely]]
      end_copy_in(name);
    if (!all_there(std::index_sequence_for<A...>(), args...)) [[unlikely]]
      return refused(args...);
    return f(args...);
  }

 private:
  using Arguments = std::tuple<A...>;
  // At any position: the status, a host's number, the coordinator that a session may lack, an opaque argument.
  template <class P>
  static constexpr bool kMayBeNull = std::is_same_v<P, belay_status*> || std::is_same_v<P, belay_host*> ||
                                     std::is_same_v<P, belay_coordinator*> || std::is_same_v<P, void*>;
  static constexpr std::size_t kCount = sizeof...(A);
  template <std::size_t i>
  using Type = std::tuple_element_t<i, Arguments>;

  // True if the argument after i is the length of the list at i.
  template <std::size_t i>
  static constexpr bool is_list() {
    if constexpr (i + 1 < kCount && std::is_pointer_v<Type<i>>) {
      using Item = std::remove_pointer_t<Type<i>>;
      return std::is_same_v<Type<i + 1>, std::uint64_t> && (std::is_const_v<Item> || std::is_void_v<Item>);
    } else {
      return false;
    }
  }
  template <std::size_t i>
  static constexpr bool is_dims() {
    if constexpr (i > 0) {
      return std::is_same_v<Type<i>, const std::int64_t*> && std::is_same_v<Type<i - 1>, std::int32_t>;
    } else {
      return false;
    }
  }
  template <std::size_t i>
  static constexpr bool must_be_there() {
    using P = Type<i>;
    if constexpr (!std::is_pointer_v<P> || kMayBeNull<P>) {
      return false;
    } else {
      return (may_be_null >> i & 1) == 0 && !kIsSized<std::remove_cv_t<std::remove_pointer_t<P>>>;
    }
  }
  // Bytes are those of a file or a tensor, so their number has no limit.
  template <std::size_t i>
  static constexpr std::uint64_t most() {
    return std::is_void_v<std::remove_cv_t<std::remove_pointer_t<Type<i>>>> ? ~std::uint64_t{0} : detail::kMostItems;
  }

  template <std::size_t i>
  static bool is_there(const Arguments& all) noexcept {
    [[maybe_unused]] const auto& arg = std::get<i>(all);
    if constexpr (std::is_same_v<Type<i>, belay_str>) {
      return arg.size == 0 || (arg.data != nullptr && arg.size <= detail::kMostTextBytes);
    } else if constexpr (is_list<i>()) {
      return std::get<i + 1>(all) == 0 || (arg != nullptr && std::get<i + 1>(all) <= most<i>());
    } else if constexpr (is_dims<i>()) {
      return std::get<i - 1>(all) <= 0 || arg != nullptr;
    } else if constexpr (must_be_there<i>()) {
      return arg != nullptr;
    } else {
      return true;
    }
  }
  template <std::size_t... i>
  static bool all_there(std::index_sequence<i...>, const A&... args) noexcept {
    // If a slot has no status, its function handles a bad text.
    const Arguments all(args...);
    return ((is_there<i>(all) || (std::is_same_v<Type<i>, belay_str> && !kHasStatus)) && ...);
  }

  template <std::size_t i>
  static void check(const Arguments& all) {
    if (is_there<i>(all)) return;
    const std::string which = std::string(name) + ": argument " + std::to_string(i + 1);
    if constexpr (std::is_same_v<Type<i>, belay_str>) {
      detail::check_text(which, std::get<i>(all));
    } else if constexpr (is_list<i>()) {
      const std::uint64_t n = std::get<i + 1>(all);
      fail(Code::kInvalidArgument,
           which + (n > most<i>() ? " is a list of " + std::to_string(n) + ", more than " + std::to_string(most<i>())
                                  : " is null, and counts " + std::to_string(n)));
    } else {
      fail(Code::kInvalidArgument, which + (is_dims<i>() ? ", dims, is null" : " is null"));
    }
  }
  template <std::size_t... i>
  static void check_all(std::index_sequence<i...>, const Arguments& all) {
    (check<i>(all), ...);
  }

  static constexpr bool kHasStatus = (std::is_same_v<A, belay_status*> || ...);
  static belay_status* status_of(const Arguments& all) noexcept { return std::get<belay_status*>(all); }
  static R refused(const A&... args) noexcept {
    if constexpr (kHasStatus) {
      const Arguments all(args...);
      return detail::guard(status_of(all), [&] { check_all(std::index_sequence_for<A...>(), all); });
    } else if constexpr (!std::is_void_v<R>) {
      return R{};
    }
  }
};

template <auto f, const char* name, unsigned may_be_null = 0>
inline constexpr auto checked = &CheckedSlot<f, name, may_be_null, false>::call;
// The checked form of a slot that a copy may call.
template <auto f, const char* name>
inline constexpr auto checked_in_copies = &CheckedSlot<f, name, 0, true>::call;

}  // namespace belay::runtime
