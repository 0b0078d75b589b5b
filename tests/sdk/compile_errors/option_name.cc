// SPDX-License-Identifier: Apache-2.0
// expect: belay: an option's name consists of letters, digits, '_' and '-'
#include <belay/plugin.h>

namespace {

class Bad final : public belay::Hook {
 public:
  struct Options {
    int number = 1;
  };
  static constexpr auto about = belay::about("bad", "Has an option with a dot in its name",
                                             belay::option("some.number", &Options::number, "a number"));
  explicit Bad(const Options&) {}
};

}  // namespace

BELAY_MODULE("1.0.0", Bad)
