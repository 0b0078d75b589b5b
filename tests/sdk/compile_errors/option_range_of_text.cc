// SPDX-License-Identifier: Apache-2.0
// expect: belay: only numbers have a range; a string has .choices(...)
#include <belay/plugin.h>

namespace {

class Bad final : public belay::Hook {
 public:
  struct Options {
    belay::Str text;
  };
  static constexpr auto about =
      belay::about("bad", "A text has no range", belay::option("text", &Options::text, "a text").min(1));
  explicit Bad(const Options&) {}
};

}  // namespace

BELAY_MODULE("1.0.0", Bad)
