// SPDX-License-Identifier: Apache-2.0
// expect: belay: next is private, protected or shares its name with another member, so the host cannot call it: declare
// it once, below `public:`
#include <belay/plugin.h>

namespace {

class Bad final : public belay::Input {
 public:
  static constexpr auto about = belay::about("bad", "Its next is protected");
  void spec(belay::InputSpec&) override {}
  void open(const belay::OpenArgs&) override {}
  void seek(const belay::Position&) override {}

 protected:
  bool next(belay::Batch&, belay::Position&) override { return false; }
};

}  // namespace

BELAY_MODULE("1.0.0", Bad)
