// SPDX-License-Identifier: Apache-2.0
// Refuses its options the ordinary way: by throwing from the constructor.
#include <belay/plugin.h>

#include <stdexcept>

namespace {

class Choosy final : public belay::Hook {
 public:
  struct Options {
    double alpha = 0.5;
  };
  static constexpr auto about =
      belay::about("choosy", "Wants an alpha between 0 and 1", belay::option("alpha", &Options::alpha, "decay"));
  explicit Choosy(const Options& o) {
    if (!(o.alpha > 0 && o.alpha < 1)) throw std::invalid_argument("alpha must lie in (0, 1)");
  }
};

}  // namespace

BELAY_MODULE("1.0.0", Choosy)
