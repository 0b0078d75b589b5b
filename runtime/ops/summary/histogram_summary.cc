// SPDX-License-Identifier: Apache-2.0
// Histograms of tensors in TensorFlow's buckets. Each limit is a tenth larger than the previous one, from 1e-12 to
// 1e20, on both sides of 0.
#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/events/proto/event.pb.h"
#include "runtime/ops/kernels/dtypes.h"
#include "runtime/ops/summary/summary_message.h"

namespace belay::runtime {
namespace {

// Returns the right end of each bucket, ascending.
std::vector<double> bucket_limits() {
  std::vector<double> positive;
  for (double limit = 1e-12; limit < 1e20; limit *= 1.1) positive.push_back(limit);
  positive.push_back(std::numeric_limits<double>::max());
  std::vector<double> limits;
  for (std::size_t i = positive.size(); i-- > 0;) limits.push_back(-positive[i]);
  limits.push_back(0);
  for (const double limit : positive) limits.push_back(limit);
  return limits;
}

void infer_histogram_summary(InferContext& c) {
  c.need_number(0);
  if (c.attrs().text("tag").empty()) c.fail("attribute 'tag' is missing");
  c.output(DType::kString, Shape{});
}

template <class T>
class HistogramSummaryKernel final : public Kernel {
 public:
  explicit HistogramSummaryKernel(const KernelSpec& spec)
      : n_(spec.inputs[0].elements()), limits_(bucket_limits()), buckets_(limits_.size()) {
    value_ = summary_.add_value();
    value_->set_tag(spec.attrs().text("tag"));
  }
  void run(void* const* in, void* const* out, const KernelContext&) override {
    count(input<T>(in, 0));
    pb::HistogramProto& histogram = *value_->mutable_histo();
    write_buckets(histogram);
    summary_.SerializeToString(&bytes_);
    *output<belay_str>(out, 0) = detail::str(bytes_);
  }

 private:
  void count(const T* x) {
    std::fill(buckets_.begin(), buckets_.end(), 0.0);
    double min = limits_.back(), max = limits_.front(), sum = 0, squares = 0;
    for (std::int64_t i = 0; i < n_; ++i) {
      const auto v = static_cast<double>(x[i]);
      if (!std::isfinite(v))
        fail(Code::kDiverged, "'" + value_->tag() + "': the tensor has NaN or infinite values; there is no histogram");
      const auto at = std::upper_bound(limits_.begin(), limits_.end(), v) - limits_.begin();
      buckets_[std::min(static_cast<std::size_t>(at), buckets_.size() - 1)] += 1;
      min = std::min(min, v), max = std::max(max, v), sum += v, squares += v * v;
    }
    pb::HistogramProto& histogram = *value_->mutable_histo();
    histogram.set_min(min), histogram.set_max(max), histogram.set_num(static_cast<double>(n_));
    histogram.set_sum(sum), histogram.set_sum_squares(squares);
  }
  // Joins neighbours without elements.
  void write_buckets(pb::HistogramProto& histogram) const {
    histogram.clear_bucket();
    histogram.clear_bucket_limit();
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
      const bool joins_next = buckets_[i] == 0 && i + 1 < buckets_.size() && buckets_[i + 1] == 0;
      if (joins_next) continue;
      histogram.add_bucket_limit(limits_[i]);
      histogram.add_bucket(buckets_[i]);
    }
  }

  std::int64_t n_;
  std::vector<double> limits_, buckets_;
  pb::Summary summary_;
  pb::Summary::Value* value_;
  std::string bytes_;
};

}  // namespace

OpDef histogram_summary_op() {
  return {.name = "HistogramSummary",
          .doc = "A Summary message with the histogram of a tensor. A NaN or infinity in it ends the run as DIVERGED.",
          .inputs = "x",
          .dtypes = "numbers",
          .n_inputs = 1,
          .attrs = {tag_attr()},
          .infer = infer_histogram_summary,
          .stops_gradient = true,
          .kernel = make_typed<HistogramSummaryKernel, NumberTypes>};
}

}  // namespace belay::runtime
