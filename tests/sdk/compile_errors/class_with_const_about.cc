// SPDX-License-Identifier: Apache-2.0
// expect g++: 'constexpr' needed for in-class initialization of static data member
// expect clang++: in-class initializer for static data member of type 'const About<>' requires 'constexpr' specifier
#include <belay/plugin.h>

namespace {

class Bad final : public belay::Hook {
 public:
  static const auto about = belay::about("bad", "Its about is const alone");
};

}  // namespace

BELAY_MODULE("1.0.0", Bad)
