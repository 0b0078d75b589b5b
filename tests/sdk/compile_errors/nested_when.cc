// SPDX-License-Identifier: Apache-2.0
// expect: belay: .when(key, values...) names a belay::Str in the same table, declared as an option, and some
#include <belay/plugin.h>

namespace {

class Bad final : public belay::Hook {
 public:
  struct Options {
    belay::Table layers;
    std::int64_t n = 1;
  };
  static constexpr auto about = belay::about("bad", "Has options", belay::option("layers", &Options::layers, "a list"),
                                             belay::option<belay::Str>("layers[].type", "what").choices("a", "b"),
                                             belay::option<double>("layers[].rate", "a rate").when("type", "c"));
  explicit Bad(const Options&) {}
};

}  // namespace

BELAY_MODULE("1.0.0", Bad)
