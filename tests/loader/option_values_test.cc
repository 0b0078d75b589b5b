// SPDX-License-Identifier: Apache-2.0
#include "runtime/loader/options/option_values.h"

#include <gtest/gtest.h>

#include <utility>

#include "belay/error.h"

namespace belay::runtime {
namespace {

TEST(OptionValues, KeepTheirPointersWhenTheyMove) {
  OptionValues values;
  for (int i = 0; i < 100; ++i) values.add("key" + std::to_string(i), std::string(i, 'x'), OptionType::kString);
  OptionValues moved = std::move(values);
  OptionValues assigned;
  assigned = std::move(moved);
  ASSERT_EQ(assigned.size(), 100u);
  for (std::size_t i = 0; i < 100; ++i) {
    const belay_named_value& v = assigned.data()[i];
    EXPECT_EQ(detail::view(v.name), "key" + std::to_string(i));
    EXPECT_EQ(v.value.type, BELAY_VALUE_TEXT);
    EXPECT_EQ(v.value.count, 1u);
    EXPECT_EQ(detail::view(*static_cast<const belay_str*>(v.value.data)), std::string(i, 'x'));
  }
}

TEST(OptionValues, HoldEveryType) {
  OptionValues values;
  values.add("a", std::vector<bool>{true, false}, OptionType::kBool);
  values.add("b", std::vector<double>{0.5, 1.5}, OptionType::kFloat);
  values.add("c", std::vector<std::string>{"x", ""}, OptionType::kString);
  values.add("d", std::monostate(), OptionType::kInt);
  const belay_named_value* v = values.data();
  EXPECT_EQ(v[0].value.type, BELAY_VALUE_BOOL | BELAY_VALUE_LIST);
  EXPECT_EQ(static_cast<const std::int64_t*>(v[0].value.data)[0], 1);
  EXPECT_EQ(static_cast<const std::int64_t*>(v[0].value.data)[1], 0);
  EXPECT_EQ(v[1].value.type, BELAY_VALUE_FLOAT | BELAY_VALUE_LIST);
  EXPECT_EQ(static_cast<const double*>(v[1].value.data)[1], 1.5);
  EXPECT_EQ(v[2].value.count, 2u);
  EXPECT_EQ(detail::view(static_cast<const belay_str*>(v[2].value.data)[0]), "x");
  EXPECT_EQ(v[3].value.type, BELAY_VALUE_INT | BELAY_VALUE_LIST);
  EXPECT_EQ(v[3].value.count, 0u);
}

}  // namespace
}  // namespace belay::runtime
