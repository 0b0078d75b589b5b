// SPDX-License-Identifier: Apache-2.0
// expect: belay: an option is bool, an integer, a float, belay::Str, belay::Path, belay::List, belay::Table, or
#include <belay/plugin.h>

#include <vector>

namespace {

class Bad final : public belay::Hook {
 public:
  struct Options {
    std::vector<double>* rates = nullptr;
  };
  static constexpr auto about =
      belay::about("bad", "Has an option of no known type", belay::option("rates", &Options::rates, "rates"));
  explicit Bad(const Options&) {}
};

}  // namespace

BELAY_MODULE("1.0.0", Bad)
