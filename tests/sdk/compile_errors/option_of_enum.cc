// SPDX-License-Identifier: Apache-2.0
// expect: belay: an option is bool, an integer, a float, belay::Str, belay::Path, belay::List, belay::Table, or
#include <belay/plugin.h>

namespace {

class Bad final : public belay::Hook {
 public:
  enum class Way { kFast, kSlow };
  struct Options {
    Way way = Way::kFast;
  };
  static constexpr auto about =
      belay::about("bad", "Its choice is an enum", belay::option("way", &Options::way, "how"));
  explicit Bad(const Options&) {}
};

}  // namespace

BELAY_MODULE("1.0.0", Bad)
