// SPDX-License-Identifier: Apache-2.0
// expect: belay: only strings have choices; a number has .range(lo, hi)
#include <belay/plugin.h>

namespace {

class Bad final : public belay::Hook {
 public:
  struct Options {
    int number = 1;
  };
  static constexpr auto about = belay::about("bad", "A number has no choices",
                                             belay::option("number", &Options::number, "a number").choices("1"));
  explicit Bad(const Options&) {}
};

}  // namespace

BELAY_MODULE("1.0.0", Bad)
