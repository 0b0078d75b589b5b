// SPDX-License-Identifier: Apache-2.0
// An input that does what a test asks: pairs (x, y) from its seed, failing or dawdling where it is told.
#include <belay/example_order.h>
#include <belay/philox.h>
#include <belay/plugin.h>

#include <chrono>
#include <fstream>
#include <optional>
#include <string>
#include <thread>

namespace {

class Numbers final : public belay::Input {
 public:
  struct Options {
    std::int64_t examples = 1000;
    std::int64_t batch_size = 16;
    std::int64_t epochs = 0;
    bool shuffle = false;
    std::int64_t fail_at_batch = -1;   // counted from this process's start
    belay::Str fail_with = "aborted";  // aborted | data_loss
    belay::Path once;                  // with it: only while this file does not exist, which is then made
    std::int64_t hang_at_batch = -1;
    std::int64_t nan_at_batch = -1;
    double delay_secs = 0;
  };
  static constexpr auto about = belay::about(
      "numbers", "Pairs of numbers for tests of the host", belay::option("examples", &Options::examples, "in an epoch"),
      belay::option("batch_size", &Options::batch_size, "examples in a batch").range(1, 1e6),
      belay::option("epochs", &Options::epochs, "0: for ever"),
      belay::option("shuffle", &Options::shuffle, "by the seed"),
      belay::option("fail_at_batch", &Options::fail_at_batch, "the batch that fails").watching(),
      belay::option("fail_with", &Options::fail_with, "how").choices("aborted", "data_loss").watching(),
      belay::option("once", &Options::once, "marker file").watching(),
      belay::option("hang_at_batch", &Options::hang_at_batch, "the batch that never comes").watching(),
      belay::option("nan_at_batch", &Options::nan_at_batch, "the batch with a NaN").watching(),
      belay::option("delay_secs", &Options::delay_secs, "before each batch").watching());

  explicit Numbers(const Options& o) : o_(o) {}

  void spec(belay::InputSpec& spec) override {
    x_ = spec.feature("x", belay::DType::kFloat32, {-1, 4});
    y_ = spec.label("y", belay::DType::kFloat32, {-1});
  }
  void open(const belay::OpenArgs& args) override {
    seed_ = args.seed;
    order_.emplace(belay::ExampleOrder::Options{o_.examples, o_.batch_size, o_.shuffle, o_.epochs}, args);
  }
  bool next(belay::Batch& batch, belay::Position& position) override {
    const auto rows = order_->batch();
    if (rows.empty()) return false;
    misbehave();
    const auto n = static_cast<std::int64_t>(rows.size());
    float* x = batch.tensor(x_, {n, 4}).data<float>();
    float* y = batch.tensor(y_, {n}).data<float>();
    for (std::int64_t i = 0; i < n; ++i) {
      belay::PhiloxSequence random(seed_, static_cast<std::uint64_t>(rows[static_cast<std::size_t>(i)]));
#ifdef NUMBERS_ANEW
      y[i] = 1;
#else
      y[i] = 0;
#endif
      for (int k = 0; k < 4; ++k) {
        x[i * 4 + k] = static_cast<float>(random.normal());
        y[i] += x[i * 4 + k] * static_cast<float>(k + 1);
      }
    }
    if (batches_ - 1 == o_.nan_at_batch) x[0] = std::nanf("");
    position = order_->advance();
    return true;
  }
  void seek(const belay::Position& position) override { order_->seek(position); }
  std::int64_t size() const override { return o_.examples; }

 private:
  void misbehave() {
    const std::int64_t batch = batches_++;
    if (o_.delay_secs > 0) std::this_thread::sleep_for(std::chrono::duration<double>(o_.delay_secs));
    while (batch == o_.hang_at_batch) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (batch != o_.fail_at_batch) return;
    if (!o_.once.empty()) {
      if (std::ifstream(o_.once.string()).good()) return;
      std::ofstream(o_.once.string()) << "failed once\n";
    }
    if (o_.fail_with == "aborted") belay::fail(belay::Code::kAborted, "the connection was lost");
    belay::fail(belay::Code::kDataLoss, "record " + std::to_string(batch) + " is damaged");
  }

  Options o_;
  std::optional<belay::ExampleOrder> order_;
  std::uint64_t seed_ = 0;
  std::uint32_t x_ = 0, y_ = 0;
  std::int64_t batches_ = 0;
};

}  // namespace

BELAY_MODULE("1.0.0", Numbers)
