// SPDX-License-Identifier: Apache-2.0
// expect: belay: a plugin class has a public constructor that takes `const Options&`, or nothing
#include <belay/plugin.h>

namespace {

class Bad final : public belay::Hook {
 public:
  struct Options {
    int number = 1;
  };
  static constexpr auto about =
      belay::about("bad", "Takes no Options", belay::option("number", &Options::number, "a number"));
  explicit Bad(int) {}
};

}  // namespace

BELAY_MODULE("1.0.0", Bad)
