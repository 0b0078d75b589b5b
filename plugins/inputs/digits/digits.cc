// SPDX-License-Identifier: Apache-2.0
// Draws digits that look handwritten while training, so this input needs no file.
//
// Example i of a split depends only on (data_seed, split, i). It is drawn at its first delivery, which takes about 12
// us, and kept as 784 bytes for later epochs. So opening costs nothing.
#include <belay/decode_pool.h>
#include <belay/example_order.h>
#include <belay/philox.h>
#include <belay/plugin.h>

#include <array>
#include <memory>
#include <optional>

#include "draw_digit.h"

namespace digits_input {
namespace {

class Digits final : public belay::Input {
 public:
  struct Options : belay::BatchOptions, belay::DecodeOptions {
    belay::Str split = "train";
    std::optional<std::int64_t> examples;
    std::int64_t data_seed = 0;
  };
  static constexpr auto about = belay::about(
      "digits", "Draws digits of 28x28 pixels, like handwritten ones, from a seed",
      belay::option("split", &Options::split, "part of the examples to use; no example is in both parts")
          .choices("train", "eval"),
      belay::option("examples", &Options::examples,
                    "number of examples in an epoch; if not set, 20000 for train and 4000 for eval")
          .range(1, 1e6),
      belay::option("data_seed", &Options::data_seed, "seed of the data set; another value draws another data set"),
      belay::batch_options<Options>(),
      belay::decode_option<Options>("number of threads that draw; the batches do not depend on it"));

  explicit Digits(const Options& o) : o_(o), pool_(o.decode_threads) {
    const bool eval = o.split == "eval";
    examples_ = o.examples.value_or(eval ? 4000 : 20000);
    const std::uint64_t data = belay::mix_key(static_cast<std::uint64_t>(o.data_seed), belay::stream_id("digits"));
    key_ = belay::mix_key(data, belay::stream_id(eval ? "eval" : "train"));
    for (std::size_t grey = 0; grey < 256; ++grey) level_[grey] = static_cast<float>(grey) / 255;
  }

  void spec(belay::InputSpec& spec) override {
    image_ = spec.feature("image", belay::DType::kFloat32, {-1, kPixels});
    has_labels_ = spec.use() != belay::InputUse::kPrediction;
    if (!has_labels_) return;
    label_ = spec.label("label", belay::DType::kInt64, {-1});
    spec.set_class_names(label_, {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"});
  }

  void open(const belay::OpenArgs& args) override {
    order_ = belay::ExampleOrder(examples_, o_, args);
    const auto n = static_cast<std::size_t>(examples_);
    drawn_.assign(n, 0);
    pixels_.reset(new std::uint8_t[n * kPixels]);  // not zeroed: memory is taken when an example is drawn into it
  }

  bool next(belay::Batch& batch, belay::Position& position) override {
    const std::vector<std::int64_t>& examples = order_.batch();
    if (examples.empty()) return false;
    const auto rows = static_cast<std::int64_t>(examples.size());
    float* images = batch.tensor(image_, {rows, kPixels}).data<float>();
    auto* labels = has_labels_ ? batch.tensor(label_, {rows}).data<std::int64_t>() : nullptr;
    pool_.for_each_row(rows, [&](std::int64_t row) {
      const std::int64_t example = examples[static_cast<std::size_t>(row)];
      const std::uint8_t* pixels = drawn(static_cast<std::size_t>(example));
      float* image = images + row * kPixels;
      for (int i = 0; i < kPixels; ++i) image[i] = level_[pixels[i]];
      if (labels != nullptr) labels[row] = digit_label(key_, static_cast<std::uint64_t>(example));
    });
    position = order_.advance();
    return true;
  }

  void seek(const belay::Position& position) override { order_.seek(position); }
  std::int64_t size() const override { return order_.size(); }

 private:
  // The rows of a batch are different examples, so threads share nothing here.
  const std::uint8_t* drawn(std::size_t example) {
    std::uint8_t* pixels = pixels_.get() + example * kPixels;
    if (drawn_[example] == 0) {
      draw_digit(key_, example, pixels);
      drawn_[example] = 1;
    }
    return pixels;
  }

  Options o_;
  std::int64_t examples_;
  std::uint64_t key_;
  std::array<float, 256> level_;
  std::uint32_t image_ = 0, label_ = 0;
  bool has_labels_ = true;
  belay::ExampleOrder order_;
  std::vector<std::uint8_t> drawn_;
  std::unique_ptr<std::uint8_t[]> pixels_;
  belay::DecodePool pool_;
};

}  // namespace
}  // namespace digits_input

BELAY_MODULE("1.0.0", digits_input::Digits)
