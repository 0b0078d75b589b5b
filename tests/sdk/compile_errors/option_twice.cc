// SPDX-License-Identifier: Apache-2.0
// expect: belay: two options of this class have one name: rename one of them
#include <belay/plugin.h>

namespace {

class Bad final : public belay::Hook {
 public:
  struct Options {
    int first = 1, second = 2;
  };
  static constexpr auto about =
      belay::about("bad", "Has two options of one name", belay::option("first", &Options::first, "a number"),
                   belay::option("first", &Options::second, "another"));
  explicit Bad(const Options&) {}
};

}  // namespace

BELAY_MODULE("1.0.0", Bad)
