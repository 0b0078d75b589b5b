// SPDX-License-Identifier: Apache-2.0
// expect: belay: two classes of this BELAY_MODULE have one kind and name: rename one, or name each class once
#include <belay/plugin.h>

namespace {

class Bad final : public belay::Hook {
 public:
  static constexpr auto about = belay::about("bad", "Is as it should be");
};

class Other final : public belay::Hook {
 public:
  static constexpr auto about = belay::about("bad", "Is as it should be");
};

}  // namespace

BELAY_MODULE("1.0.0", Bad, Other)
