// SPDX-License-Identifier: Apache-2.0
// expect: belay: save_state is private, protected or shares its name with another member, so the host cannot call it:
// declare it once, below `public:`
#include <belay/plugin.h>

namespace {

class Bad final : public belay::Hook {
 public:
  static constexpr auto about = belay::about("bad", "Its save_state is private");
  void load_state(const belay::StateReader& state) override { steps_ = state.integer("steps"); }

 private:
  void save_state(belay::StateWriter& state) const override { state.put("steps", steps_); }
  std::int64_t steps_ = 0;
};

}  // namespace

BELAY_MODULE("1.0.0", Bad)
