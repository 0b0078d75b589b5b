// SPDX-License-Identifier: Apache-2.0
// expect: belay: .or_single() is for a belay::List
#include <belay/plugin.h>

namespace {

class Bad final : public belay::Hook {
 public:
  struct Options {
    belay::Table layers;
    std::int64_t n = 1;
  };
  static constexpr auto about = belay::about("bad", "Has options", belay::option("layers", &Options::layers, "a list"),
                                             belay::option<double>("layers[].rate", "a rate").or_single());
  explicit Bad(const Options&) {}
};

}  // namespace

BELAY_MODULE("1.0.0", Bad)
