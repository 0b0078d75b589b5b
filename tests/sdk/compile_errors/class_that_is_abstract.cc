// SPDX-License-Identifier: Apache-2.0
// expect: belay: the class is abstract: override every pure virtual function of its bases
#include <belay/plugin.h>

namespace {

class Reports {
 public:
  virtual ~Reports() = default;
  virtual void report() = 0;
  virtual void clear() = 0;
};

class Bad final : public belay::Hook, public Reports {
 public:
  static constexpr auto about = belay::about("bad", "Lacks a function of its own interface");
  void report() override {}
};

}  // namespace

BELAY_MODULE("1.0.0", Bad)
