// SPDX-License-Identifier: Apache-2.0
// Selects a kernel's element type by a dtype.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>

#include "runtime/graph/kernel.h"

namespace belay::runtime {

template <class... T>
struct Types {};
using FloatTypes = Types<float, double>;
using IndexTypes = Types<std::int32_t, std::int64_t>;
using NumberTypes = Types<float, double, std::int32_t, std::int64_t, std::uint8_t>;
using PlainTypes = Types<float, double, std::int32_t, std::int64_t, std::uint8_t, bool>;

// Returns make(std::type_identity<T>{}) for the T of the list that has this dtype.
template <class... T, class Make>
std::unique_ptr<Kernel> make_for(Types<T...>, DType dtype, Make&& make) {
  std::unique_ptr<Kernel> kernel;
  const bool known = ((dtype_of<T> == dtype && (kernel = make(std::type_identity<T>{}), true)) || ...);
  if (!known) fail(Code::kUnimplemented, std::string("no kernel for ") + dtype_name(dtype));
  return kernel;
}

// Makes K<T> for the T of the list that input 0 has.
template <template <class> class K, class List = FloatTypes>
std::unique_ptr<Kernel> make_typed(const KernelSpec& spec) {
  return make_for(List{}, spec.inputs[0].dtype,
                  [&]<class T>(std::type_identity<T>) { return std::make_unique<K<T>>(spec); });
}

// The type for sums and products of T. For integers its overflow wraps.
template <class T, bool integral = std::is_integral_v<T>>
struct Wrapping {
  using type = T;
};
template <class T>
struct Wrapping<T, true> {
  using type = std::conditional_t<sizeof(T) < sizeof(unsigned), unsigned, std::make_unsigned_t<T>>;
};
template <class T>
using WrappingOf = typename Wrapping<T>::type;

}  // namespace belay::runtime
