// SPDX-License-Identifier: Apache-2.0
#include "belay/state_digest.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "belay/testing/error_of.h"

namespace belay {
namespace {

struct Named {
  std::string name;
  Tensor tensor;
};

std::vector<Named> state() {
  return {{"a", Tensor({2, 3}, {1.f, 2.f, 3.f, 4.f, 5.f, 6.f})},
          {"b", Tensor({2}, {0.0, -0.0})},
          {"global_step", Tensor(std::int64_t{7})},
          {"mask", Tensor(DType::kBool, {3})},
          {"none", Tensor(DType::kFloat32, {0, 4})}};
}

std::string digest_of(const std::vector<Named>& tensors) {
  StateDigest digest;
  for (const Named& t : tensors) digest.add(t.name, TensorView(t.tensor.view()));
  return digest.text();
}

TEST(StateDigest, B_08h_OneFlippedBitOfAnyVariableChangesIt) {
  std::vector<Named> tensors = state();
  for (Named& t : tensors)
    std::memset(TensorView(t.tensor.view()).mutable_data(), 0, TensorView(t.tensor.view()).bytes());
  std::set<std::string> seen{digest_of(tensors)};
  std::size_t bits = 0;
  for (Named& t : tensors) {
    const TensorView view(t.tensor.view());
    auto* bytes = static_cast<unsigned char*>(view.mutable_data());
    for (std::size_t bit = 0; bit < view.bytes() * 8; ++bit, ++bits) {
      bytes[bit / 8] = static_cast<unsigned char>(bytes[bit / 8] ^ (1u << bit % 8));
      EXPECT_TRUE(seen.insert(digest_of(tensors)).second) << t.name << ", bit " << bit;
      bytes[bit / 8] = static_cast<unsigned char>(bytes[bit / 8] ^ (1u << bit % 8));
    }
  }
  EXPECT_EQ(bits, 8 * (24u + 16u + 8u + 3u));
  EXPECT_EQ(seen.size(), bits + 1);
}

TEST(StateDigest, TheOrderInWhichTheyAreAddedDoesNotMatter) {
  std::vector<Named> tensors = state();
  const std::string digest = digest_of(tensors);
  EXPECT_TRUE(StateDigest::is_text(digest)) << digest;
  EXPECT_EQ(digest_of({tensors.rbegin(), tensors.rend()}), digest);
}

TEST(StateDigest, NameTypeAndShapeGoIn) {
  const Tensor six({6}, {1.f, 2.f, 3.f, 4.f, 5.f, 6.f});
  const Tensor rows({2, 3}, {1.f, 2.f, 3.f, 4.f, 5.f, 6.f}), columns({3, 2}, {1.f, 2.f, 3.f, 4.f, 5.f, 6.f});
  EXPECT_EQ(
      (std::set<std::string>{digest_of({}), digest_of({{"a", six}}), digest_of({{"b", six}}), digest_of({{"a", rows}}),
                             digest_of({{"a", columns}}), digest_of({{"a", six}, {"b", six}})})
          .size(),
      6u);
  // No elements at all, and yet two forms; the same bits as another type.
  EXPECT_NE(digest_of({{"a", Tensor(DType::kFloat32, {0})}}), digest_of({{"a", Tensor(DType::kInt32, {0})}}));
  EXPECT_NE(digest_of({{"a", Tensor(0.f)}}), digest_of({{"a", Tensor(std::int32_t{0})}}));
  EXPECT_NE(digest_of({{"a", Tensor(0.f)}}), digest_of({{"a", Tensor(-0.f)}}));
}

// Digests lie in files: what they are for the same values never changes.
TEST(StateDigest, IsTheSameForEver) {
  EXPECT_EQ(digest_of({}), "2c0a8a99dc147d5445c3b49d035665b2");
  EXPECT_EQ(digest_of({{"w", Tensor({2}, {1.f, 2.f})}, {"global_step", Tensor(std::int64_t{3})}}),
            "b3efd0e56a6a1e3d922a11911bb4fb8d");
}

TEST(StateDigest, StringsHaveNone) {
  StateDigest digest;
  const Tensor text(DType::kString, {1});
  EXPECT_EQ(testing::error_of([&] { digest.add("t", TensorView(text.view())); }),
            "UNIMPLEMENTED: 't' is of type string; a digest is of numbers");
}

}  // namespace
}  // namespace belay
