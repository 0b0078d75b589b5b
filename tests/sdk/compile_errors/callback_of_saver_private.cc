// SPDX-License-Identifier: Apache-2.0
// expect: belay: write is private, protected or shares its name with another member, so the host cannot call it:
// declare it once, below `public:`
#include <belay/plugin.h>

namespace {

class Bad final : public belay::Saver {
 public:
  static constexpr auto about = belay::about("bad", "Its write is private");
  void read(belay::Directory&, belay::TensorSink&) override {}

 private:
  void write(belay::Directory&, const belay::TensorSource&) override {}
};

}  // namespace

BELAY_MODULE("1.0.0", Bad)
