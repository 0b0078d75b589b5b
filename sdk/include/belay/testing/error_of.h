// SPDX-License-Identifier: Apache-2.0
// Returns the error that a call throws as one line, so a test can assert its code and its whole message:
//
//   EXPECT_EQ(error_of([&] { hook.begin(); }), "NOT_FOUND: the graph has no 'los'; did you mean 'loss'?");
#pragma once

#include <exception>
#include <string>

#include "belay/error.h"

namespace belay {
inline namespace v0 {
namespace testing {

// Empty: f does not throw. An exception that is not a belay::Error has no code: "exception: what()".
template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return std::string(code_name(e.code())) + ": " + e.what();
  } catch (const std::exception& e) {
    return std::string("exception: ") + e.what();
  }
  return "";
}

}  // namespace testing
}  // namespace v0
}  // namespace belay
