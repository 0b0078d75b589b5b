// SPDX-License-Identifier: Apache-2.0
// Summaries are serialized TensorBoard messages in string scalars.
#include "belay/ops/summaries.h"

#include "runtime/events/proto/event.pb.h"
#include "runtime/graph/kernel.h"
#include "runtime/ops/registry.h"
#include "runtime/ops/summary/summary_message.h"

namespace belay::runtime {
namespace {

void infer_scalar_summary(InferContext& c) {
  c.need_scalar(0);
  if (c.dtype(0) == DType::kString) c.fail(c.input_text(0) + " must be a number");
  if (c.attrs().text("tag").empty()) c.fail("attribute 'tag' is missing");
  c.output(DType::kString, Shape{});
}

class ScalarSummaryKernel final : public Kernel {
 public:
  explicit ScalarSummaryKernel(const KernelSpec& spec) : dtype_(spec.inputs[0].dtype) {
    value_ = summary_.add_value();
    value_->set_tag(spec.attrs().text("tag"));
  }
  void run(void* const* in, void* const* out, const KernelContext&) override {
    value_->set_simple_value(
        static_cast<float>(TensorView(detail::raw_tensor(dtype_, 0, nullptr, in[0], dtype_size(dtype_))).number(0)));
    summary_.SerializeToString(&bytes_);
    *output<belay_str>(out, 0) = detail::str(bytes_);
  }

 private:
  DType dtype_;
  pb::Summary summary_;
  pb::Summary::Value* value_;
  std::string bytes_;
};

std::unique_ptr<Kernel> make_scalar_summary(const KernelSpec& spec) {
  return std::make_unique<ScalarSummaryKernel>(spec);
}

// ---- text

void infer_text_summary(InferContext& c) {
  c.need_dtype(0, DType::kString);
  if (c.attrs().text("tag").empty()) c.fail("attribute 'tag' is missing");
  c.output(DType::kString, Shape{});
}

// Makes a string tensor for TensorBoard's plugin "text".
class TextSummaryKernel final : public Kernel {
 public:
  explicit TextSummaryKernel(const KernelSpec& spec) {
    pb::Summary::Value* value = summary_.add_value();
    value->set_tag(spec.attrs().text("tag"));
    value->mutable_metadata()->mutable_plugin_data()->set_plugin_name("text");
    value->mutable_metadata()->set_data_class(2);
    tensor_ = value->mutable_tensor();
    tensor_->set_dtype(pb::DT_STRING);
    for (const std::int64_t d : spec.inputs[0].dims) tensor_->mutable_tensor_shape()->add_dim()->set_size(d);
    for (std::int64_t i = 0; i < spec.inputs[0].elements(); ++i) tensor_->add_string_val();
  }
  void run(void* const* in, void* const* out, const KernelContext&) override {
    for (int i = 0; i < tensor_->string_val_size(); ++i) {
      const std::string_view text = detail::view(input<belay_str>(in, 0)[i]);
      tensor_->mutable_string_val(i)->assign(text.data(), text.size());
    }
    summary_.SerializeToString(&bytes_);
    *output<belay_str>(out, 0) = detail::str(bytes_);
  }

 private:
  pb::Summary summary_;
  pb::TensorProto* tensor_;
  std::string bytes_;
};

std::unique_ptr<Kernel> make_text_summary(const KernelSpec& spec) { return std::make_unique<TextSummaryKernel>(spec); }

// ---- merging

void infer_merge_summary(InferContext& c) {
  if (c.n_inputs() == 0) c.fail("there is nothing to merge");
  for (std::size_t i = 0; i < c.n_inputs(); ++i) c.need_dtype(i, DType::kString);
  c.output(DType::kString, Shape{});
}

// Two serialized messages in a row are the merged message.
class MergeSummaryKernel final : public Kernel {
 public:
  explicit MergeSummaryKernel(const KernelSpec& spec) {
    for (const TensorSpec& t : spec.inputs) counts_.push_back(t.elements());
  }
  void run(void* const* in, void* const* out, const KernelContext&) override {
    bytes_.clear();
    for (std::size_t i = 0; i < counts_.size(); ++i)
      for (std::int64_t e = 0; e < counts_[i]; ++e) bytes_.append(detail::view(input<belay_str>(in, i)[e]));
    *output<belay_str>(out, 0) = detail::str(bytes_);
  }

 private:
  std::vector<std::int64_t> counts_;
  std::string bytes_;
};

std::unique_ptr<Kernel> make_merge_summary(const KernelSpec& spec) {
  return std::make_unique<MergeSummaryKernel>(spec);
}

}  // namespace

AttrDef tag_attr() { return string_attr("tag", "the name that TensorBoard shows, not empty"); }

void add_summary_ops(OpRegistry& r) {
  r.add({.name = "ScalarSummary",
         .doc = "A Summary message with one number.",
         .inputs = "x",
         .dtypes = "any but string",
         .n_inputs = 1,
         .attrs = {tag_attr()},
         .infer = infer_scalar_summary,
         .stops_gradient = true,
         .kernel = make_scalar_summary});
  r.add(histogram_summary_op());
  r.add(image_summary_op());
  r.add({.name = "TextSummary",
         .doc = "A Summary message with strings.",
         .inputs = "strings",
         .dtypes = "string",
         .n_inputs = 1,
         .attrs = {tag_attr()},
         .infer = infer_text_summary,
         .stops_gradient = true,
         .kernel = make_text_summary});
  r.add({.name = "MergeSummary",
         .doc = "All its Summary messages in one.",
         .inputs = "summaries...",
         .dtypes = "string",
         .n_inputs = -1,
         .infer = infer_merge_summary,
         .stops_gradient = true,
         .kernel = make_merge_summary});
}

}  // namespace belay::runtime
