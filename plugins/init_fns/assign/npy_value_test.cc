// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <memory>

#include "belay/testing/temporary_folder.h"
#include "belay/testing/testing.h"
#include "plugins/inputs/npy/npy_test_files.h"

extern "C" const belay_module belay_module_assign;

namespace npy_value_test {

using namespace belay::testing;
using belay::DType;
using belay::Tensor;
using npy_input::npy_bytes;
using npy_input::npy_file;

class AssignNpy : public ::testing::Test {
 protected:
  // Returns the value of variable "w" afterwards.
  std::string set(const std::string& bytes, DType dtype, const belay::Dims& dims) const {
    InitFnDriver init(module_under_test(belay_module_assign),
                      {{"vars", std::vector<std::string>{"w"}}, {"npy", folder_.write("w.npy", bytes)}});
    init.variable("w", Tensor(dtype, dims));
    init.run();
    EXPECT_EQ(init.logged(), std::vector<std::string>{"info: set to '" + path_ + "': w"});
    return init.text_of("w");
  }
  std::string error(const std::string& bytes, DType dtype, const belay::Dims& dims) const {
    return error_of([&] { set(bytes, dtype, dims); });
  }
  // Returns the start of a message about an array that does not fit the variable.
  std::string about(const std::string& type) const {
    return "INVALID_ARGUMENT: npy: '" + path_ + "' is for variable 'w', " + type + ", which";
  }

  TemporaryFolder folder_;
  const std::string path_ = folder_.file("w.npy");
};

TEST_F(AssignNpy, AnArrayOfTheSameTypeIsTheValue) {
  EXPECT_EQ(set(npy_file<float>("<f4", "(2, 2)", {1, 2, 3, 4}), DType::kFloat32, {2, 2}), "[[1, 2], [3, 4]]");
  EXPECT_EQ(set(npy_file<double>("<f8", "()", {0.1}), DType::kFloat64, {}), "0.1");
  EXPECT_EQ(set(npy_file<std::int64_t>("<i8", "(1,)", {9007199254740993}), DType::kInt64, {1}), "[9007199254740993]");
  EXPECT_EQ(set(npy_file<std::uint8_t>("|b1", "(3,)", {1, 0, 1}), DType::kBool, {3}), "[true, false, true]");
}

TEST_F(AssignNpy, FloatingPointVariablesRoundAndTakeIntegers) {
  EXPECT_EQ(set(npy_file<double>("<f8", "(2,)", {0.1, 1e9}), DType::kFloat32, {2}), "[0.1, 1e+09]");
  EXPECT_EQ(set(npy_file<std::uint16_t>("<f2", "(2,)", {0x3e00, 0xb400}), DType::kFloat32, {2}), "[1.5, -0.25]");
  EXPECT_EQ(set(npy_file<std::int16_t>("<i2", "(2,)", {-3, 4}), DType::kFloat64, {2}), "[-3, 4]");
}

TEST_F(AssignNpy, IntegersMustBeHeld) {
  EXPECT_EQ(set(npy_file<std::int64_t>("<i8", "(2,)", {0, 255}), DType::kUInt8, {2}), "[0, 255]");
  EXPECT_EQ(set(npy_file<std::uint64_t>("<u8", "(1,)", {7}), DType::kInt32, {1}), "[7]");
  for (const std::int64_t wrong : {std::int64_t{-1}, std::int64_t{256}})
    EXPECT_EQ(
        error(npy_file<std::int64_t>("<i8", "(2,)", {0, wrong}), DType::kUInt8, {2}),
        about("uint8 [2]") + " does not hold " + std::to_string(wrong) + ", its element 1; save values that it holds");
  EXPECT_EQ(
      error(npy_file<std::uint64_t>("<u8", "(1,)", {std::numeric_limits<std::uint64_t>::max()}), DType::kInt64, {1}),
      about("int64 [1]") + " does not hold 18446744073709551615, its element 0; save values that it holds");
  EXPECT_EQ(error(npy_file<float>("<f4", "(1,)", {1}), DType::kInt32, {1}),
            about("int32 [1]") + " does not hold '<f4'; save a.astype('i8')");
  EXPECT_EQ(error(npy_file<std::uint8_t>("|u1", "(1,)", {1}), DType::kBool, {1}),
            about("bool [1]") + " does not hold '|u1'; save a.astype(bool)");
}

TEST_F(AssignNpy, TheShapeMustBeTheVariables) {
  EXPECT_EQ(error(npy_file<float>("<f4", "(2, 3)", {1, 2, 3, 4, 5, 6}), DType::kFloat32, {3, 2}),
            about("float32 [3, 2]") +
                " has another shape than the array, [2, 3]; save a.reshape(...) or a.T if that is what is meant");
}

TEST_F(AssignNpy, OrderOfBytesAndOfDimensionsIsAsTheFileSays) {
  std::string big(8, '\0');
  big[0] = 0x3f, big[1] = static_cast<char>(0x80);  // 1
  big[4] = 0x40;                                    // 2
  EXPECT_EQ(set(npy_bytes("{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }\n", big), DType::kFloat32, {2}),
            "[1, 2]");
  // The array is numpy.asfortranarray([[[0, 1], [2, 3], [4, 5]]]): its first dimension runs fastest.
  std::string elements(24, '\0');
  const float values[] = {0, 2, 4, 1, 3, 5};
  std::memcpy(elements.data(), values, sizeof(values));
  EXPECT_EQ(set(npy_bytes("{'descr': '<f4', 'fortran_order': True, 'shape': (1, 3, 2), }\n", elements), DType::kFloat32,
                {1, 3, 2}),
            "[[[0, 1], [2, 3], [4, 5]]]");
}

TEST_F(AssignNpy, AFileThatIsNoneIsRefused) {
  EXPECT_THAT(error("PK\3\4", DType::kFloat32, {}),
              ::testing::HasSubstr("is an archive of several arrays; save the one that is meant by numpy.save"));
  EXPECT_THAT(error(npy_file<float>("<f4", "(2,)", {1}), DType::kFloat32, {2}),
              ::testing::StartsWith("DATA_LOSS: [B3023] npy: '" + path_ + "' is cut short or damaged"));
  EXPECT_THAT(error_of([&] {
                InitFnDriver init(module_under_test(belay_module_assign),
                                  {{"vars", std::vector<std::string>{"w"}}, {"npy", folder_.file("v.npy")}});
              }),
              ::testing::StartsWith("NOT_FOUND: [B3046] npy: there is no file '"));
}

}  // namespace npy_value_test
