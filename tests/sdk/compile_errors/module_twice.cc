// SPDX-License-Identifier: Apache-2.0
// expect: belay_module_is_there_twice_name_all_classes_in_one
#include <belay/plugin.h>

namespace {

class Bad final : public belay::Hook {
 public:
  static constexpr auto about = belay::about("bad", "Is as it should be");
};

}  // namespace

BELAY_MODULE("1.0.0", Bad)
BELAY_MODULE("1.0.0", Bad)
