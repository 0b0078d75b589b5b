// SPDX-License-Identifier: Apache-2.0
// Tests whether a type at the boundary is a sized struct, which every call and callback checks.
#pragma once

#include "belay/detail/sized.h"

namespace belay::runtime {

template <class T, class = void>
inline constexpr bool kIsSized = false;
template <class T>
inline constexpr bool kIsSized<T, decltype(static_cast<void>(detail::SizedName<T>::value))> = true;

}  // namespace belay::runtime
