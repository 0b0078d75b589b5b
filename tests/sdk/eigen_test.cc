// SPDX-License-Identifier: Apache-2.0
#include "belay/eigen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "belay/plugin.h"
#include "belay/testing/testing.h"

namespace {

using belay::DType;
using belay::Tensor;
using belay::TensorView;
using belay::testing::error_of;
using ::testing::HasSubstr;

Tensor counted(belay::Dims dims) {
  Tensor tensor(DType::kFloat32, std::move(dims));
  for (std::size_t i = 0; i < tensor.size(); ++i) tensor.data<float>()[i] = static_cast<float>(i);
  return tensor;
}

TEST(Eigen, MapsAreTheTensorsOwnMemory) {
  Tensor tensor = counted({2, 3});
  belay::eigen_matrix<float>(tensor)(1, 0) = 30;
  belay::eigen_array<float>(tensor)[5] = 50;
  EXPECT_EQ(belay::tensor_text(tensor, 6), "[[0, 1, 2], [30, 4, 50]]");
  EXPECT_EQ(belay::eigen_matrix<const float>(tensor).data(), tensor.data<float>());
  EXPECT_EQ((belay::eigen_tensor<const float, 2>(tensor).data()), tensor.data<float>());
}

TEST(Eigen, MatricesAndTensorsAreRowMajor) {
  const Tensor matrix = counted({2, 3}), images = counted({2, 3, 4, 5});
  const auto m = belay::eigen_matrix<const float>(matrix);
  EXPECT_EQ(m.rows(), 2);
  EXPECT_EQ(m.cols(), 3);
  EXPECT_EQ(m(1, 2), 5);
  EXPECT_EQ(m.row(1).sum(), 12);
  const auto t = belay::eigen_tensor<const float, 4>(images);
  EXPECT_EQ(t.dimension(0), 2);
  EXPECT_EQ(t.dimension(3), 5);
  EXPECT_EQ(t(1, 2, 3, 4), 119);
  EXPECT_EQ(t(0, 1, 2, 3), 33);
}

TEST(Eigen, ProductsFillATensorInPlace) {
  const Tensor a({2, 3}, {1.f, 2.f, 3.f, 4.f, 5.f, 6.f}), x({3}, {1.f, 0.f, -1.f});
  Tensor y(DType::kFloat32, {2});
  belay::eigen_vector<float>(y).noalias() = belay::eigen_matrix<const float>(a) * belay::eigen_vector<const float>(x);
  EXPECT_EQ(belay::tensor_text(y, 2), "[-2, -2]");
}

TEST(Eigen, AnArrayHasTheElementsOfAnyRank) {
  const Tensor scalar(2.5), cube = counted({2, 2, 2}), none(DType::kInt64, {0, 4});
  EXPECT_EQ(belay::eigen_array<const double>(scalar).sum(), 2.5);
  EXPECT_EQ(belay::eigen_array<const float>(cube).size(), 8);
  EXPECT_FLOAT_EQ(belay::eigen_array<const float>(cube).matrix().squaredNorm(), 140);
  EXPECT_EQ(belay::eigen_array<const std::int64_t>(none).size(), 0);
  EXPECT_EQ(belay::eigen_matrix<const std::int64_t>(none).cols(), 4);
  EXPECT_EQ((belay::eigen_tensor<const double, 0>(scalar)()), 2.5);
}

TEST(Eigen, EachDtypeIsMappedByItsType) {
  EXPECT_EQ(belay::eigen_array<const std::int32_t>(Tensor({2}, {3, 4}).view()).prod(), 12);
  const Tensor bytes({2}, std::vector<std::uint8_t>{200, 55}), flags({3}, std::vector<bool>{true, false, true});
  EXPECT_EQ(belay::eigen_array<const std::uint8_t>(bytes).cast<int>().sum(), 255);
  EXPECT_EQ(belay::eigen_array<const bool>(flags).count(), 2);
}

TEST(Eigen, HalvesAreEigensOwn) {
  Tensor half(DType::kFloat16, {3}), brain(DType::kBFloat16, {3});
  belay::eigen_vector<Eigen::half>(half) << Eigen::half(1.5f), Eigen::half(-65504.f), Eigen::half(0.25f);
  belay::eigen_vector<Eigen::bfloat16>(brain) << Eigen::bfloat16(1.5f), Eigen::bfloat16(-3e38f), Eigen::bfloat16(0.25f);
  const TensorView h(half), b(brain);
  EXPECT_EQ(h.number(0), 1.5);
  EXPECT_EQ(h.number(1), -65504);
  EXPECT_EQ(b.number(0), 1.5);
  EXPECT_NEAR(b.number(1), -3e38, 2e36);
  EXPECT_EQ(belay::eigen_array<const Eigen::half>(half).cast<float>().tail(2).sum(), -65503.75f);
  EXPECT_EQ(belay::eigen_array<const Eigen::bfloat16>(brain).cast<float>()[2], 0.25f);
}

TEST(Eigen, AnotherDtypeOrRankIsNamedWithTheTensor) {
  const Tensor counts({3}, std::vector<std::int64_t>{1, 2, 3});
  const auto error_with = [&](const auto& map) { return error_of([&] { map(TensorView(counts)); }); };
  EXPECT_EQ(error_with([](const TensorView& t) { belay::eigen_matrix<const float>(t, "weights"); }),
            "INVALID_ARGUMENT: 'weights' is int64 [3], expected float32 [?, ?]");
  EXPECT_EQ(error_with([](const TensorView& t) { belay::eigen_matrix<const std::int64_t>(t, "weights"); }),
            "INVALID_ARGUMENT: 'weights' is int64 [3], expected int64 [?, ?]");
  EXPECT_EQ(error_with([](const TensorView& t) { belay::eigen_array<double>(t); }),
            "INVALID_ARGUMENT: the tensor is int64 [3], expected float64");
  EXPECT_EQ(error_with([](const TensorView& t) { belay::eigen_vector<Eigen::half>(t); }),
            "INVALID_ARGUMENT: the tensor is int64 [3], expected float16 [?]");
  EXPECT_EQ(error_with([](const TensorView& t) { belay::eigen_tensor<const std::int64_t, 0>(t, "scale"); }),
            "INVALID_ARGUMENT: 'scale' is int64 [3], expected int64 []");
}

// Data that begins at the tensor's second element has an address from which no packet may be read at once.
TEST(Eigen, ElementsMayLieAnywhere) {
  Tensor tensor = counted({65});
  belay_tensor rest = tensor.view();
  const std::int64_t dims[] = {64};
  rest.dims = dims;
  rest.data = tensor.data<float>() + 1;
  EXPECT_EQ(belay::eigen_array<const float>(TensorView(rest)).sum(), 64 * 65 / 2);
}

template <class T, class = void>
struct MapsATemporary : std::false_type {};
template <class T>
struct MapsATemporary<T, std::void_t<decltype(belay::eigen_array<float>(std::declval<T>()))>> : std::true_type {};

TEST(Eigen, NoMapIsMadeOfATensorThatIsGoneAtOnce) {
  EXPECT_TRUE(MapsATemporary<Tensor&>::value);
  EXPECT_TRUE(MapsATemporary<TensorView>::value);
  EXPECT_FALSE(MapsATemporary<Tensor>::value);
}

TEST(Eigen, IsIncludedByItsOwnHeaderAlone) {
  namespace fs = std::filesystem;
  int headers = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(BELAY_SOURCE_DIR "/sdk/include")) {
    if (!entry.is_regular_file() || entry.path().filename() == "eigen.h") continue;
    std::ostringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    EXPECT_THAT(text.str(), Not(HasSubstr("igen/"))) << entry.path();
    EXPECT_THAT(text.str(), Not(HasSubstr("#include \"belay/eigen.h\""))) << entry.path();
    ++headers;
  }
  EXPECT_GT(headers, 40);
}

}  // namespace
