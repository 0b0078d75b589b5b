// SPDX-License-Identifier: Apache-2.0
#include "runtime/events/plain_summary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "runtime/events/proto/event.pb.h"

namespace belay::runtime {
namespace {

pb::Summary of_each_kind() {
  pb::Summary summary;
  summary.add_value()->set_tag("training/loss");
  summary.mutable_value(0)->set_simple_value(0.5f);
  summary.add_value()->set_tag("kernel");
  pb::HistogramProto& histogram = *summary.mutable_value(1)->mutable_histo();
  histogram.set_min(-1), histogram.set_max(1), histogram.set_num(10), histogram.set_sum(3);
  histogram.set_sum_squares(9);
  for (int i = 0; i < 20; ++i) histogram.add_bucket_limit(i), histogram.add_bucket(1);
  summary.add_value()->set_tag("digits/image/0");
  pb::Summary::Image& image = *summary.mutable_value(2)->mutable_image();
  image.set_height(28), image.set_width(280), image.set_colorspace(1);
  image.set_encoded_image_string(std::string(200, '\xff'));
  return summary;
}

// The writer would do this with it, by a message: nothing.
bool needs_no_change(const std::string& bytes) {
  pb::Summary summary;
  if (!summary.ParseFromString(bytes)) return false;
  return std::all_of(summary.value().begin(), summary.value().end(), [](const pb::Summary::Value& v) {
    return is_clean_tag(v.tag()) && !v.has_metadata() && (!v.has_simple_value() || std::isfinite(v.simple_value()));
  });
}

TEST(PlainSummary, NumbersHistogramsAndImagesAreThat) {
  EXPECT_TRUE(is_plain_summary(of_each_kind().SerializeAsString()));
  EXPECT_TRUE(is_plain_summary(""));
}

TEST(PlainSummary, WhatIsToBeChangedOrSaidIsNot) {
  const auto with = [](auto&& change) {
    pb::Summary summary = of_each_kind();
    change(*summary.mutable_value(0));
    return is_plain_summary(summary.SerializeAsString());
  };
  using Value = pb::Summary::Value;
  EXPECT_FALSE(with([](Value& v) { v.set_tag("a tag"); }));
  EXPECT_FALSE(with([](Value& v) { v.set_tag("/loss"); }));
  EXPECT_FALSE(with([](Value& v) { v.set_tag("\xc3\xb6l"); }));
  EXPECT_FALSE(with([](Value& v) { v.mutable_metadata()->set_display_name("loss"); }));
  EXPECT_FALSE(with([](Value& v) { v.set_simple_value(std::numeric_limits<float>::quiet_NaN()); }));
  EXPECT_FALSE(with([](Value& v) { v.set_simple_value(-std::numeric_limits<float>::infinity()); }));
  EXPECT_FALSE(with([](Value& v) { v.set_node_name("n"); }));
  EXPECT_FALSE(with([](Value& v) { v.mutable_tensor()->set_dtype(pb::DT_STRING); }));
  EXPECT_FALSE(with([](Value& v) { v.mutable_audio()->set_sample_rate(1); }));
}

TEST(PlainSummary, AMessageThatIsCutOffIsNotUnlessItEndsBehindAValue) {
  const std::string whole = of_each_kind().SerializeAsString();
  int plain = 0;
  for (std::size_t length = 0; length < whole.size(); ++length)
    if (is_plain_summary(whole.substr(0, length))) {
      EXPECT_TRUE(needs_no_change(whole.substr(0, length))) << length;
      ++plain;
    }
  EXPECT_EQ(plain, 3);  // of none, of the first, of the first two
}

// Its word is taken for protobuf's, so it may accept nothing that protobuf refuses.
TEST(PlainSummary, OfAQuarterMillionDamagedOnesNoneIsPlainThatAMessageWouldChange) {
  const std::string whole = of_each_kind().SerializeAsString();
  std::mt19937 random(1);
  int plain = 0;
  for (int i = 0; i < 250'000; ++i) {
    std::string damaged = whole;
    for (unsigned n = 1 + random() % 3; n != 0; --n) damaged[random() % 80] = static_cast<char>(random());
    if (random() % 4 == 0) damaged.resize(random() % whole.size());
    if (!is_plain_summary(damaged)) continue;
    ++plain;
    ASSERT_TRUE(needs_no_change(damaged)) << i;
  }
  EXPECT_GT(plain, 1000);
}

}  // namespace
}  // namespace belay::runtime
