// SPDX-License-Identifier: Apache-2.0
// expect: belay: an example is a value of the option's own type; of a List the elements, .example(1, 2); of a
#include <belay/plugin.h>

namespace {

class Bad final : public belay::Hook {
 public:
  struct Options {
    belay::Table layers;
    std::int64_t n = 1;
  };
  static constexpr auto about =
      belay::about("bad", "Has options", belay::option("n", &Options::n, "a number").example("five"));
  explicit Bad(const Options&) {}
};

}  // namespace

BELAY_MODULE("1.0.0", Bad)
