// SPDX-License-Identifier: Apache-2.0
// expect: belay: an option is a member of the class's own public `struct Options`: call the struct Options
#include <belay/plugin.h>

namespace {

class Bad final : public belay::Hook {
  struct Options {
    int number = 1;
  };

 public:
  static constexpr auto about =
      belay::about("bad", "Its options are private", belay::option("number", &Options::number, "a number"));
  explicit Bad(const Options&) {}
};

}  // namespace

BELAY_MODULE("1.0.0", Bad)
