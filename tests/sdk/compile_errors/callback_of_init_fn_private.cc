// SPDX-License-Identifier: Apache-2.0
// expect: belay: run is private, protected or shares its name with another member, so the host cannot call it: declare
// it once, below `public:`
#include <belay/plugin.h>

namespace {

class Bad final : public belay::InitFn {
  void run(belay::Graph&, belay::Session&) override {}

 public:
  static constexpr auto about = belay::about("bad", "Its run is private");
};

}  // namespace

BELAY_MODULE("1.0.0", Bad)
