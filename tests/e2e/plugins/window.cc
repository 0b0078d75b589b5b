// SPDX-License-Identifier: Apache-2.0
// A hook with much state: a window over the losses, kept in tensors.
#include <belay/plugin.h>

#include <algorithm>
#include <string>
#include <vector>

namespace {

class Window final : public belay::Hook {
 public:
  struct Options {
    std::int64_t megabytes = 40;
  };
  static constexpr auto about =
      belay::about("window", "Keeps much state in tensors",
                   belay::option("megabytes", &Options::megabytes, "of the larger tensor").min(1));
  explicit Window(const Options& o)
      : mean_(static_cast<std::size_t>(o.megabytes) * 250'000), order_(1000), rows_(o.megabytes) {}

  void begin(belay::Graph& graph) override { loss_ = graph.fetch<float>("loss"); }
  belay::RunArgs before_run(belay::RunContext&) override { return {loss_}; }
  // Every element depends on every loss so far.
  void after_run(belay::RunContext&, const belay::RunValues& values) override {
    const float loss = values[loss_];
    for (std::size_t i = 0; i < mean_.size(); ++i) mean_[i] = 0.9f * mean_[i] + loss * static_cast<float>(1 + i % 17);
    std::rotate(order_.begin(), order_.begin() + 1, order_.end());
    order_.back() = ++runs_;
  }

  void save_state(belay::StateWriter& state) const override {
    std::copy(mean_.begin(), mean_.end(),
              state.tensor("mean", belay::DType::kFloat32, {rows_, 250, 1000}).data<float>());
    std::copy(order_.begin(), order_.end(), state.tensor("order", belay::DType::kInt64, {1000}).data<std::int64_t>());
    state.put("runs", runs_);
  }
  void load_state(const belay::StateReader& state) override {
    if (state.keys().empty()) return;
    const belay::TensorView mean = state.tensor("mean"), order = state.tensor("order");
    if (mean.size() != mean_.size() || order.size() != order_.size())
      belay::fail(belay::Code::kDataLoss, "the window has another size");
    std::copy_n(mean.data<const float>(), mean_.size(), mean_.begin());
    std::copy_n(order.data<const std::int64_t>(), order_.size(), order_.begin());
    runs_ = state.integer("runs");
    host().info("state of version " + state.written_by() + " at run " + std::to_string(runs_));
  }

 private:
  std::vector<float> mean_;
  std::vector<std::int64_t> order_;
  const std::int64_t rows_;
  std::int64_t runs_ = 0;
  belay::Fetch<float> loss_;
};

}  // namespace

BELAY_MODULE("2.1.0", Window)
