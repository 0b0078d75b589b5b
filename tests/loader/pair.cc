// SPDX-License-Identifier: Apache-2.0
// A library with two hooks and nothing else.
#include <belay/plugin.h>

namespace {

class First final : public belay::Hook {
 public:
  static constexpr auto about = belay::about("first", "The first of two");
};

class Second final : public belay::Hook {
 public:
  static constexpr auto about = belay::about("second", "The second of two");
};

}  // namespace

BELAY_MODULE("0.3.0", First, Second)
