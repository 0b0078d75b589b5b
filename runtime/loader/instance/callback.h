// SPDX-License-Identifier: Apache-2.0
// The name of a callback, which is also a number. So noting the current callback is one store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace belay::runtime {

// The names by number. Number 0 means that nothing is called yet, for example during the loading of a library.
inline constexpr std::string_view kCallbackNames[] = {"",
                                                      "create",
                                                      "destroy",
                                                      "begin",
                                                      "after_create_session",
                                                      "before_run",
                                                      "after_run",
                                                      "end",
                                                      "before_save",
                                                      "after_save",
                                                      "on_error",
                                                      "save_state",
                                                      "load_state",
                                                      "write",
                                                      "read",
                                                      "run",
                                                      "build",
                                                      "spec",
                                                      "open",
                                                      "next",
                                                      "seek",
                                                      "size",
                                                      "traits",
                                                      "infer",
                                                      "make_kernel",
                                                      "destroy_kernel",
                                                      "gradient",
                                                      "create_slots",
                                                      "prepare",
                                                      "apply",
                                                      "finish",
                                                      "initial_value",
                                                      "check",
                                                      "close",
                                                      "barrier",
                                                      "broadcast",
                                                      "all_reduce",
                                                      "all_gather",
                                                      "send",
                                                      "receive",
                                                      "split",
                                                      "join",
                                                      "takes_sparse",
                                                      "apply_sparse"};

// Made at compile time from a literal of that list: `call("begin", ...)`.
class Callback {
 public:
  consteval Callback(const char* name) : name_(name), number_(number_of(name)) {}  // NOLINT: implicit, for literals
  constexpr const char* name() const noexcept { return name_; }
  constexpr std::uint32_t number() const noexcept { return number_; }

 private:
  static consteval std::uint32_t number_of(std::string_view name) {
    for (std::size_t i = 1; i < std::size(kCallbackNames); ++i)
      if (kCallbackNames[i] == name) return static_cast<std::uint32_t>(i);
    throw "a callback that is not in kCallbackNames";
  }

  const char* name_;
  std::uint32_t number_;
};

}  // namespace belay::runtime
