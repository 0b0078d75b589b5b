// SPDX-License-Identifier: Apache-2.0
// expect: belay: build is private, protected or shares its name with another member, so the host cannot call it:
// declare it once, below `public:`
#include <belay/plugin.h>

namespace {

class Bad final : public belay::Model {
 public:
  static constexpr auto about = belay::about("bad", "Has a second function called build");
  void build(belay::ModelContext& model) override { build(model.graph()); }
  void build(const belay::Graph&) {}
};

}  // namespace

BELAY_MODULE("1.0.0", Bad)
