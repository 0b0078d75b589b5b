// SPDX-License-Identifier: Apache-2.0
// Reads records and labels from a pair of IDX files, such as MNIST's.
//
// Opening reads the headers. The first batch reads the whole files; they stay in memory in their element type.
#include <belay/class_options.h>
#include <belay/decode_pool.h>
#include <belay/example_order.h>
#include <belay/finite_values.h>
#include <belay/plugin.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "idx_file.h"

namespace idx_input {
namespace {

using belay::Code;
using belay::fail;

// The example has eight images of 2 x 2 bytes, and their labels.
constexpr char kImages[] =
    "\x00\x00\x08\x03\x00\x00\x00\x08\x00\x00\x00\x02\x00\x00\x00\x02"
    "\x00\x08\x10\x18 (08@HPX`hpx\x80\x88\x90\x98\xa0\xa8\xb0\xb8\xc0\xc8\xd0\xd8\xe0\xe8\xf0\xf8";
constexpr char kLabels[] =
    "\x00\x00\x08\x01\x00\x00\x00\x08"
    "\x00\x01\x00\x01\x00\x01\x00\x01";

class Idx final : public belay::Input {
 public:
  struct Options : belay::ClassOptions, belay::BatchOptions, belay::DecodeOptions {
    belay::Path images;
    belay::Path labels;
    bool flatten = true;
    std::optional<double> scale;
    double mean = 0;
    double stddev = 1;
  };
  static constexpr auto about = belay::about(
      "idx", "Reads images and labels from files in MNIST's IDX format, plain or .gz",
      belay::option("images", &Options::images, "IDX file of the images, of any element type")
          .required()
          .example_file("images.idx", kImages),
      belay::option("labels", &Options::labels,
                    "IDX file of the labels, one whole number per image; if empty, no labels; a prediction reads none")
          .example_file("labels.idx", kLabels),
      belay::class_options<Options>(
          "number of classes; each label is below it; 0 means no check; if not set, as many as 'class_names', else 10"),
      belay::option("flatten", &Options::flatten,
                    "true: the feature 'image' is [batch, elements]; false: it is [batch, rows, columns]")
          .learned(),
      belay::option("scale", &Options::scale, "factor for each element; if not set, 1/255 for uint8, else 1").learned(),
      belay::option("mean", &Options::mean, "number to subtract from each element after 'scale'").learned(),
      belay::option("std", &Options::stddev, "number to divide each element by after 'mean'").min(1e-30).learned(),
      belay::batch_options<Options>(), belay::decode_option<Options>());

  explicit Idx(const Options& o) : o_(o), pool_(o.decode_threads) {}

  void spec(belay::InputSpec& spec) override {
    has_labels_ = !o_.labels.empty() && spec.use() != belay::InputUse::kPrediction;
    evaluates_ = spec.use() == belay::InputUse::kEvaluation;
    finite_.set_use(spec.use());
    read_headers();
    choose_scale(spec);
    image_dims_ = {-1};
    if (o_.flatten) {
      image_dims_.push_back(static_cast<std::int64_t>(images_.elements_per_record()));
    } else {
      image_dims_.insert(image_dims_.end(), images_.dims.begin() + 1, images_.dims.end());
    }
    image_slot_ = spec.feature("image", belay::DType::kFloat32, image_dims_);
    keep_shape(spec);
    if (!has_labels_) return;
    label_slot_ = spec.label("label", belay::DType::kInt64, {-1});
    constexpr std::int64_t kDigits = 10;
    classes_ = belay::declare_classes(spec, label_slot_, o_, kDigits);
  }

  void open(const belay::OpenArgs& args) override {
    if (evaluates_ && has_labels_) load_labels();  // so that their faults show before a training
    order_ = belay::ExampleOrder(images_.records(), o_, args);
  }

  bool next(belay::Batch& batch, belay::Position& position) override {
    if (elements_.empty()) load();
    const std::vector<std::int64_t>& examples = order_.batch();
    if (examples.empty()) return false;
    const auto rows = static_cast<std::int64_t>(examples.size());
    image_dims_[0] = rows;
    const belay::TensorView tensor = batch.tensor(image_slot_, image_dims_);
    auto* images = tensor.data<float>();
    const std::size_t width = images_.elements_per_record();
    pool_.for_each_row(rows, [&](std::int64_t row) {
      const auto r = static_cast<std::size_t>(row);
      decode(static_cast<std::size_t>(examples[r]), images + r * width);
    });
    if (images_.type == ElementType::kFloat32 || images_.type == ElementType::kFloat64)
      finite_.check(host(), "image", tensor, [&](std::size_t row) {
        return "images: '" + o_.images.string() + "' record " + std::to_string(examples[row]);
      });
    if (has_labels_) {
      auto* labels = batch.tensor(label_slot_, {rows}).data<std::int64_t>();
      for (std::size_t r = 0; r < examples.size(); ++r)
        labels[r] = label_values_[static_cast<std::size_t>(examples[r])];
    }
    position = order_.advance();
    return true;
  }

  void seek(const belay::Position& position) override { order_.seek(position); }
  std::int64_t size() const override { return order_.size(); }

 private:
  void read_headers() {
    images_ = read_idx_header("images", o_.images.string());
    if (!has_labels_) return;
    labels_ = read_idx_header("labels", o_.labels.string());
    const std::string prefix = "labels: '" + o_.labels.string() + "' ";
    if (labels_.dims.size() != 1)
      fail(Code::kInvalidArgument, "[B3024] " + prefix + "has the dimensions " + belay::dims_text(labels_.dims) +
                                       "; labels have one. Are 'images' and 'labels' swapped?");
    if (labels_.type == ElementType::kFloat32 || labels_.type == ElementType::kFloat64)
      fail(Code::kInvalidArgument,
           "[B3025] " + prefix + "holds " + element_name(labels_.type) + "; labels are whole numbers");
    if (labels_.records() != images_.records())
      fail(Code::kFailedPrecondition, "[B3026] " + prefix + "has " + std::to_string(labels_.records()) +
                                          " records, images '" + o_.images.string() + "' has " +
                                          std::to_string(images_.records()) + "; give two files of one set");
  }

  // A missing option takes the training's value. A file of another element type has another default, so then the option
  // is required.
  void choose_scale(belay::InputSpec& spec) {
    scale_ = o_.scale.value_or(images_.type == ElementType::kUInt8 ? 1.0 / 255 : 1.0);
    const auto learned = spec.learned_values("scale");
    if (!o_.scale && learned && *learned != std::vector<double>{scale_})
      fail(Code::kInvalidArgument,
           "[B3025] images: '" + o_.images.string() + "' holds " + element_name(images_.type) +
               ", which is another type than the training's images had; set 'scale' to the factor of its elements");
    if (spec.has_learned() && !learned) return;  // a training of another plugin has no such values
    spec.keep("scale", std::vector<double>{scale_});
    spec.keep("mean", std::vector<double>{o_.mean});
    spec.keep("std", std::vector<double>{o_.stddev});
    if (o_.scale && (!learned || spec.learned_words("scale.dtype")))
      spec.keep("scale.dtype", std::vector<std::string>{element_name(images_.type)});
  }

  // A flattened image does not show its shape: 2 x 3 has as many elements as 3 x 2. A training of another plugin, or of
  // an earlier version, has no shape.
  void keep_shape(belay::InputSpec& spec) const {
    if (!o_.flatten || (spec.has_learned() && !spec.learned_values("flatten.shape"))) return;
    spec.keep("flatten.shape", std::vector<double>(images_.dims.begin() + 1, images_.dims.end()));
  }

  void load() {
    if (has_labels_ && label_values_.empty()) load_labels();
    elements_ = read_idx_elements("images", o_.images.string(), images_);
    for (std::size_t value = 0; value < 256; ++value) uint8_value_[value] = normalised(static_cast<double>(value));
  }

  // A bad label in a training is damage. In an evaluation it does not fit the model.
  void load_labels() {
    const std::vector<std::uint8_t> bytes = read_idx_elements("labels", o_.labels.string(), labels_);
    label_values_.resize(static_cast<std::size_t>(labels_.records()));
    for (std::size_t i = 0; i < label_values_.size(); ++i) {
      const auto label =
          static_cast<std::int64_t>(element_value(labels_.type, bytes.data() + i * element_size(labels_.type)));
      if (classes_ != 0 && (label < 0 || label >= classes_))
        fail(evaluates_ ? Code::kInvalidArgument : Code::kDataLoss,
             "[B3007] labels: '" + o_.labels.string() + "' has label " + std::to_string(label) + " in record " +
                 std::to_string(i) + "; " + belay::text_of_classes(classes_));
      label_values_[i] = label;
    }
  }

  float normalised(double element) const { return static_cast<float>((element * scale_ - o_.mean) / o_.stddev); }

  void decode(std::size_t record, float* out) const {
    const std::size_t n = images_.elements_per_record(), size = element_size(images_.type);
    const std::uint8_t* in = elements_.data() + record * n * size;
    if (images_.type == ElementType::kUInt8) {
      for (std::size_t i = 0; i < n; ++i) out[i] = uint8_value_[in[i]];
    } else {
      for (std::size_t i = 0; i < n; ++i) out[i] = normalised(element_value(images_.type, in + i * size));
    }
  }

  Options o_;
  IdxHeader images_, labels_;
  belay::Dims image_dims_;
  std::uint32_t image_slot_ = 0, label_slot_ = 0;
  bool has_labels_ = false, evaluates_ = false;
  double scale_ = 1;
  std::int64_t classes_ = 0;  // labels are below it; 0: not checked
  belay::FiniteValues finite_;
  belay::ExampleOrder order_;
  std::vector<std::uint8_t> elements_;  // of all images; empty until the first batch
  std::vector<std::int64_t> label_values_;
  std::array<float, 256> uint8_value_{};  // the value of each uint8 element
  belay::DecodePool pool_;
};

}  // namespace
}  // namespace idx_input

BELAY_MODULE("1.0.0", idx_input::Idx)
