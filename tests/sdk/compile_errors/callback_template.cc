// SPDX-License-Identifier: Apache-2.0
// expect: belay: after_create_session is private, protected or shares its name with another member, so the host cannot
// call it: declare it once, below `public:`
#include <belay/plugin.h>

namespace {

class Bad final : public belay::Hook {
 public:
  static constexpr auto about = belay::about("bad", "A template is not called by the host");
  template <class Session>
  void after_create_session(Session&) {}
};

}  // namespace

BELAY_MODULE("1.0.0", Bad)
