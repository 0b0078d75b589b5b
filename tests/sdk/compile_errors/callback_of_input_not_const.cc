// SPDX-License-Identifier: Apache-2.0
// expect: belay: size would never be called: declare it as in belay::Input, `std::int64_t size() const override`
#include <belay/plugin.h>

namespace {

class Bad final : public belay::Input {
 public:
  static constexpr auto about = belay::about("bad", "Its size is not const");
  void spec(belay::InputSpec&) override {}
  void open(const belay::OpenArgs&) override {}
  void seek(const belay::Position&) override {}
  bool next(belay::Batch&, belay::Position&) override { return false; }
  std::int64_t size() { return 3; }
};

}  // namespace

BELAY_MODULE("1.0.0", Bad)
