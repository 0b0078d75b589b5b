// SPDX-License-Identifier: Apache-2.0
// Compiles: the others differ from it in one thing each.
#include <belay/plugin.h>

namespace {

class Good final : public belay::Hook {
 public:
  struct Options {
    double rate = 0.5;
    belay::Str text = "a";
  };
  static constexpr auto about =
      belay::about("good", "Is as it should be", belay::option("rate", &Options::rate, "a rate").range(0, 1),
                   belay::option("text", &Options::text, "a text").choices("a", "b"));
  explicit Good(const Options&) {}
  void begin(belay::Graph&) override {}
  void end(belay::Session&) override {}
};

}  // namespace

BELAY_MODULE("1.0.0", Good)
