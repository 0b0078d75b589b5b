// SPDX-License-Identifier: Apache-2.0
#include "tests/estimator/evaluation_fixture.h"

#include <algorithm>

#include "belay/ops/math.h"
#include "belay/ops/random.h"
#include "belay/ops/reductions.h"
#include "belay/plugin.h"

namespace {

namespace ops = belay::ops;
using belay::DType;
using belay::Output;
using belay::Tensor;

// The last batch is smaller where `last` is odd.
class Numbers final : public belay::Input {
 public:
  struct Options {
    std::int64_t last = 5;
    std::int64_t fails_at = -1;
    std::int64_t waits_at = -1;
    bool repeat = false;
  };
  static constexpr auto about =
      belay::about("numbers", "Counts", belay::option("last", &Options::last, "the last number"),
                   belay::option("fails_at", &Options::fails_at, "where next fails"),
                   belay::option("waits_at", &Options::waits_at, "where next waits for the test"),
                   belay::option("repeat", &Options::repeat, "for ever"));
  explicit Numbers(const Options& o) : o_(o) {}

  void spec(belay::InputSpec& spec) override { slot_ = spec.feature("x", DType::kFloat32, {-1}); }
  void open(const belay::OpenArgs&) override {}
  bool next(belay::Batch& batch, belay::Position& position) override {
    if (o_.fails_at >= 0 && at_ >= o_.fails_at) belay::fail(belay::Code::kDataLoss, "the numbers are damaged");
    if (at_ == o_.waits_at) belay::runtime::testing::gatekeeper->pass();
    if (o_.repeat && at_ == o_.last) at_ = 0, ++epoch_;
    const std::int64_t n = std::min<std::int64_t>(2, o_.last - at_);
    if (n == 0) return false;
    float* x = batch.tensor(slot_, {n}).data<float>();
    for (std::int64_t i = 0; i < n; ++i) x[i] = static_cast<float>(++at_);
    position = {epoch_, at_};
    return true;
  }
  void seek(const belay::Position& position) override { epoch_ = position.epoch, at_ = position.index; }

 private:
  const Options o_;
  std::uint32_t slot_ = 0;
  std::int64_t epoch_ = 0;
  std::int64_t at_ = 0;
};

// The loss is the mean of scale * x; two metrics are by batches, and one counts in its own variable. Training pulls
// scale to a value of its examples and a random number.
class Scaled final : public belay::Model {
 public:
  struct Options {
    belay::Str metric = "largest";
    bool more_in_eval = false;
  };
  static constexpr auto about = belay::about(
      "scaled", "Multiplies its input", belay::option("metric", &Options::metric, "what the first is called"),
      belay::option("more_in_eval", &Options::more_in_eval, "a variable that training has not got"));
  explicit Scaled(const Options& o) : o_(o) {}

  void build(belay::ModelContext& model) override {
    const belay::Graph& g = model.graph();
    const Output x = model.feature();
    const Output scale = ops::variable(g, "scale", Tensor(1.0f));
    if (model.mode() == belay::Mode::kTrain) {
      const Output wanted = ops::random_uniform(g, {}, 2, 4) + ops::reduce_mean(x) * 0.125;
      model.loss(ops::square(scale - wanted));
      return;
    }
    const Output total = ops::variable(g, "total", Tensor(0.0f), ops::VariableKind::kLocal);
    Output scaled = x * scale;
    if (o_.more_in_eval) scaled = scaled * ops::variable(g, "more", Tensor(1.0f));
    model.loss(ops::reduce_mean(scaled));
    model.metric(o_.metric.view(), ops::reduce_max(x));
    model.metric("total", total, ops::assign_add(total, ops::reduce_sum(x)));
  }

 private:
  const Options o_;
};

// Learns which of 1 to 5 are above 2.5, with a line through them.
class Above final : public belay::Model {
 public:
  static constexpr auto about = belay::about("above", "Separates larger numbers from smaller ones");

  void build(belay::ModelContext& model) override {
    const belay::Graph& g = model.graph();
    const Output x = model.feature();
    const Output slope = ops::variable(g, "slope", Tensor(0.0f)), middle = ops::variable(g, "middle", Tensor(0.0f));
    const Output above = ops::cast(ops::greater(x, ops::constant(g, 2.5f)), DType::kFloat32);
    const Output line = (x - 3.0) * slope + middle;
    const Output said = ops::cast(ops::greater(line, ops::constant(g, 0.5f)), DType::kFloat32);
    model.loss(ops::reduce_mean(ops::square(line - above)));
    model.metric("accuracy", 1.0 - ops::reduce_mean(ops::square(said - above)));
  }
};

}  // namespace

BELAY_MODULE("1.0.0", Numbers, Scaled, Above)
