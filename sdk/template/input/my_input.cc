// Points of a noisy plane, drawn by a seeded generator: features x [2], label y = 2 x0 - x1 + noise.
#include <belay/example_order.h>
#include <belay/philox.h>
#include <belay/plugin.h>

namespace {

class MyInput final : public belay::Input {
 public:
  struct Options : belay::BatchOptions {
    std::int64_t examples = 1000;
    double noise = 0.1;
  };
  static constexpr auto about =
      belay::about("my_input", "Draws points of a noisy plane",
                   belay::option("examples", &Options::examples, "number of examples in an epoch").range(1, 1e9),
                   belay::option("noise", &Options::noise, "largest distance of a label from the plane").range(0, 1e6),
                   belay::batch_options<Options>());

  explicit MyInput(const Options& options) : options_(options) {}

  // Names, types and shapes, before the model is built. -1: the batch. Other inputs of the model are matched by name.
  void spec(belay::InputSpec& spec) override {
    x_ = spec.feature("x", belay::DType::kFloat32, {-1, 2});
    spec.set_columns(x_, {"x0", "x1"});
    y_ = spec.label("y", belay::DType::kFloat32, {-1});
  }

  void open(const belay::OpenArgs& args) override { order_ = belay::ExampleOrder(options_.examples, options_, args); }

  // Writes one batch into the host's memory, and the position after it. Example i depends on i alone.
  bool next(belay::Batch& batch, belay::Position& position) override {
    const std::vector<std::int64_t>& examples = order_.batch();
    if (examples.empty()) return false;
    const auto rows = static_cast<std::int64_t>(examples.size());
    float* x = batch.tensor(x_, {rows, 2}).data<float>();
    float* y = batch.tensor(y_, {rows}).data<float>();
    for (const std::int64_t example : examples) {
      const belay::PhiloxBlock random = belay::philox(kKey, static_cast<std::uint64_t>(example), 0);
      const float a = belay::uniform_float(random[0]), b = belay::uniform_float(random[1]);
      *x++ = a;
      *x++ = b;
      *y++ = 2 * a - b + static_cast<float>(options_.noise) * (2 * belay::uniform_float(random[2]) - 1);
    }
    position = order_.advance();
    return true;
  }

  void seek(const belay::Position& position) override { order_.seek(position); }
  std::int64_t size() const override { return order_.size(); }

 private:
  static constexpr std::uint64_t kKey = belay::stream_id("my_input");

  const Options options_;
  std::uint32_t x_ = 0, y_ = 0;
  belay::ExampleOrder order_;
};

}  // namespace

BELAY_MODULE("0.1.0", MyInput)
