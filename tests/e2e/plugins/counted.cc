// SPDX-License-Identifier: Apache-2.0
// A hook whose state is another one on each rank: it counts rank + 1 in each step, in a number and in a tensor.
#include <belay/plugin.h>

#include <cstdint>
#include <string>

namespace {

class Counted final : public belay::Hook {
 public:
  static constexpr auto about = belay::about("counted", "Counts another number on each rank");

  void after_run(belay::RunContext&, const belay::RunValues&) override { count_ += host().rank() + 1; }
  void end(belay::Session&) override {
    host().info("counted " + std::to_string(count_) + " and " + std::to_string(loaded_));
  }
  void save_state(belay::StateWriter& state) const override {
    state.put("count", count_);
    state.tensor("twice", belay::DType::kInt64, {1}).data<std::int64_t>()[0] = 2 * count_;
  }
  void load_state(const belay::StateReader& state) override {
    if (state.keys().empty()) return;
    count_ = state.integer("count");
    loaded_ = state.tensor("twice").data<const std::int64_t>()[0];
  }

 private:
  std::int64_t count_ = 0, loaded_ = 0;
};

}  // namespace

BELAY_MODULE("1.0.0", Counted)
