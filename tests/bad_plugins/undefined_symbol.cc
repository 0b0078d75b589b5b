// SPDX-License-Identifier: Apache-2.0
// Uses a function that no library has.
#include <belay/plugin.h>

#include <string>

namespace trainer {
int step(const std::string& name);
}

namespace {

class Caller final : public belay::Hook {
 public:
  static constexpr auto about = belay::about("caller", "Calls what is not there");
  void end(belay::Session&) override { trainer::step("last"); }
};

}  // namespace

BELAY_MODULE("1.0.0", Caller)
