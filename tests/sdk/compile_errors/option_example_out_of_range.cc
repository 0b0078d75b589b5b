// SPDX-License-Identifier: Apache-2.0
// expect: belay: an option's example breaks its own range or choices
#include <belay/plugin.h>

namespace {

class Bad final : public belay::Hook {
 public:
  struct Options {
    belay::Table layers;
    std::int64_t n = 1;
  };
  static constexpr auto about =
      belay::about("bad", "Has options", belay::option("n", &Options::n, "a number").min(1).example(0));
  explicit Bad(const Options&) {}
};

}  // namespace

BELAY_MODULE("1.0.0", Bad)
