// SPDX-License-Identifier: Apache-2.0
// expect: belay: an option is a member of the class's own public `struct Options`: call the struct Options
#include <belay/plugin.h>

namespace {

class Bad final : public belay::Hook {
 public:
  struct Settings {
    int number = 1;
  };
  static constexpr auto about =
      belay::about("bad", "Its options are called Settings", belay::option("number", &Settings::number, "a number"));
  explicit Bad(const Settings&) {}
};

}  // namespace

BELAY_MODULE("1.0.0", Bad)
