// SPDX-License-Identifier: Apache-2.0
// expect: belay: a plugin class has a public constructor that takes `const Options&`, or nothing
#include <belay/plugin.h>

namespace {

class Bad final : public belay::Hook {
 public:
  static constexpr auto about = belay::about("bad", "Cannot be made");

 private:
  Bad() {}
};

}  // namespace

BELAY_MODULE("1.0.0", Bad)
