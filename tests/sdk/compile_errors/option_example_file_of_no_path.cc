// SPDX-License-Identifier: Apache-2.0
// expect: belay: only a path has an example file; others have .example(...)
#include <belay/plugin.h>

namespace {

class Bad final : public belay::Hook {
 public:
  struct Options {
    belay::Table layers;
    std::int64_t n = 1;
  };
  static constexpr auto about =
      belay::about("bad", "Has options", belay::option("n", &Options::n, "a number").example_file("n.txt", "5"));
  explicit Bad(const Options&) {}
};

}  // namespace

BELAY_MODULE("1.0.0", Bad)
