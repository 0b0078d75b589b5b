// SPDX-License-Identifier: Apache-2.0
#include "belay/testing/stored_value.h"

#include <gtest/gtest.h>

#include <limits>
#include <sstream>

#include "belay/testing/error_of.h"

namespace {

using belay::Tensor;
using belay::testing::error_of;
using belay::testing::StoredValue;

TEST(StoredValue, CopiesWhatItIsGiven) {
  for (const StoredValue& value :
       {StoredValue(true), StoredValue(-7), StoredValue(0.5), StoredValue("text"), StoredValue(std::vector<int>{1, 2}),
        StoredValue(std::vector<double>{}), StoredValue(std::vector<std::string>{"a", ""}),
        StoredValue(std::vector<bool>{true, false})}) {
    const StoredValue copy = StoredValue::copy(value.raw());
    EXPECT_EQ(copy, value);
    EXPECT_EQ(copy.type(), value.type());
  }
}

TEST(StoredValue, CopiesATensor) {
  const Tensor tensor({2}, {1.f, 2.f});
  const belay_tensor view = tensor.view();
  const StoredValue copy = StoredValue::copy({BELAY_VALUE_TENSOR, 0, 1, &view});
  EXPECT_EQ(copy.text(), "[1, 2]");
  EXPECT_EQ(copy, StoredValue::copy(copy.raw()));
}

TEST(StoredValue, TellsTypesAndBitsApart) {
  EXPECT_NE(StoredValue(1), StoredValue(1.0));
  EXPECT_NE(StoredValue(true), StoredValue(1));
  EXPECT_NE(StoredValue(1), StoredValue(std::vector<int>{1}));
  EXPECT_NE(StoredValue(0.0), StoredValue(-0.0));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(StoredValue(nan), StoredValue(nan));
}

TEST(StoredValue, PrintsAsPeopleWriteIt) {
  for (const auto& [value, text] : {std::pair{StoredValue(true), "true"},
                                    {StoredValue(3), "3"},
                                    {StoredValue(0.5), "0.5"},
                                    {StoredValue("x"), "\"x\""},
                                    {StoredValue(std::vector<std::string>{"a", "b"}), "[\"a\", \"b\"]"},
                                    {StoredValue(std::vector<bool>{true, false}), "[true, false]"}}) {
    std::ostringstream out;
    out << value;
    EXPECT_EQ(out.str(), text);
  }
}

TEST(StoredValue, RefusesWhatIsNoValue) {
  const std::int64_t numbers[] = {1, 2};
  EXPECT_EQ(error_of([&] {
              StoredValue::copy({99, 0, 1, numbers});
            }),
            "INVALID_ARGUMENT: a value has the unknown type 99");
  EXPECT_EQ(error_of([&] {
              StoredValue::copy({BELAY_VALUE_INT, 0, 2, numbers});
            }),
            "INVALID_ARGUMENT: a value that is no list has 2 elements");
}

}  // namespace
