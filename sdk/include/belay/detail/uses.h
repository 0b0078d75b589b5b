// SPDX-License-Identifier: Apache-2.0
// The compiler's knowledge of a plugin class, for its note: its callbacks beyond those of every class of its kind.
#pragma once

#include <cstddef>
#include <string_view>
#include <type_traits>

#include "belay/detail/callbacks.h"

namespace belay {
inline namespace v0 {
namespace detail {

struct Uses {
  bool known = false;  // false: the kind has no optional callback
  std::string_view callback[10] = {};
  std::size_t n = 0;

  constexpr void add(std::string_view name, bool is_there) {
    if (is_there) callback[n++] = name;
    known = true;
  }
};

#define BELAY_USE(base, name) uses.add(#name, overrides_##base##_##name<T>());
template <class T>
constexpr Uses uses_of() {
  Uses uses;
  if constexpr (std::is_convertible_v<T*, Hook*>) {
    BELAY_USE(Hook, begin)
    BELAY_USE(Hook, after_create_session)
    BELAY_USE(Hook, before_run)
    BELAY_USE(Hook, after_run)
    BELAY_USE(Hook, end)
    BELAY_USE(Hook, before_save)
    BELAY_USE(Hook, after_save)
    BELAY_USE(Hook, on_error)
    BELAY_USE(Hook, save_state)
    BELAY_USE(Hook, load_state)
  } else if constexpr (std::is_convertible_v<T*, Saver*>) {
    BELAY_USE(Saver, interrupt)
  } else if constexpr (std::is_convertible_v<T*, Input*>) {
    BELAY_USE(Input, interrupt)
    BELAY_USE(Input, size)
  } else if constexpr (std::is_convertible_v<T*, Op*>) {
    BELAY_USE(Op, prepare)
    BELAY_USE(Op, gradient)
  } else if constexpr (std::is_convertible_v<T*, Optimizer*>) {
    BELAY_USE(Optimizer, create_slots)
    BELAY_USE(Optimizer, prepare)
    BELAY_USE(Optimizer, finish)
    BELAY_USE(Optimizer, takes_sparse)
    BELAY_USE(Optimizer, apply_sparse)
  } else if constexpr (std::is_convertible_v<T*, Exporter*>) {
    BELAY_USE(Exporter, check)
  } else if constexpr (std::is_convertible_v<T*, Cluster*>) {
    BELAY_USE(Cluster, close)
    BELAY_USE(Cluster, abort)
  }
  return uses;
}
#undef BELAY_USE

}  // namespace detail
}  // namespace v0
}  // namespace belay
