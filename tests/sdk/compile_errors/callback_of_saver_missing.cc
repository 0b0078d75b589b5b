// SPDX-License-Identifier: Apache-2.0
// expect: belay: a class that derives from belay::Saver has a `void read(Directory&, TensorSink&) override`; this one
// lacks it
#include <belay/plugin.h>

namespace {

class Bad final : public belay::Saver {
 public:
  static constexpr auto about = belay::about("bad", "Writes and cannot read");
  void write(belay::Directory&, const belay::TensorSource&) override {}
};

}  // namespace

BELAY_MODULE("1.0.0", Bad)
