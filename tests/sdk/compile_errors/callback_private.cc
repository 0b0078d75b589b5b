// SPDX-License-Identifier: Apache-2.0
// expect: belay: after_run is private, protected or shares its name with another member, so the host cannot call it:
// declare it once, below `public:`
#include <belay/plugin.h>

namespace {

class Bad final : public belay::Hook {
 public:
  static constexpr auto about = belay::about("bad", "Its after_run is private");

 private:
  void after_run(belay::RunContext&, const belay::RunValues&) override {}
};

}  // namespace

BELAY_MODULE("1.0.0", Bad)
