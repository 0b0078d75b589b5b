// SPDX-License-Identifier: Apache-2.0
// A hook of a class that another library has too, by the same name.
#include <belay/plugin.h>

class Shared : public belay::Hook {
 public:
  static constexpr auto about = belay::about("minimal", "Says which library its code is of");
  void begin(belay::Graph&) override { belay::fail(belay::Code::kAborted, WHO); }
};

BELAY_MODULE("1.0.0", Shared)
