// SPDX-License-Identifier: Apache-2.0
// A hook in a driver, as the tests of the driver want it.
#pragma once

#include <memory>
#include <utility>

#include "belay/testing/hook_driver.h"

namespace belay::testing {

// Begun, and in a session, with a "loss" and a global step.
template <class T>
struct Driven {
  template <class... A>
  explicit Driven(A&&... arguments) {
    auto object = std::make_unique<T>(std::forward<A>(arguments)...);
    hook = object.get();
    driver = std::make_unique<HookDriver>(std::move(object));
    driver->tensor<float>("loss");
    driver->global_step(0);
    driver->begin();
    driver->create_session();
  }
  T* hook;
  std::unique_ptr<HookDriver> driver;
};

}  // namespace belay::testing
