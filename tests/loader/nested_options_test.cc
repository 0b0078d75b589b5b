// SPDX-License-Identifier: Apache-2.0
// Keys below a table against what the note declares of them.
#include <gtest/gtest.h>

#include "belay/detail/parse_options.h"
#include "tests/loader/checked_options.h"

namespace belay::runtime {
namespace {

constexpr const char* kNote = R"({"abi": [0, 4], "plugins": [{"kind": "model", "name": "stack", "options": [
  {"name": "layers", "type": "table", "required": true, "help": "from first to last"},
  {"name": "layers[].type", "type": "string", "choices": ["dense", "conv", "flatten"], "required": true},
  {"name": "layers[].units", "type": "int", "min": 1, "required": true, "help": "outputs", "when": {"type": ["dense"]}},
  {"name": "layers[].size", "type": "int_list", "min": 1, "single": true, "when": {"type": ["conv"]}},
  {"name": "layers[].rate", "type": "float", "min": 0, "max": 1},
  {"name": "layers[].weights", "type": "path"},
  {"name": "features", "type": "table"},
  {"name": "features.*.dtype", "type": "string", "choices": ["float32", "string"], "default": "float32"},
  {"name": "features.*.fill", "type": "float", "when": {"dtype": ["float32"]}},
  {"name": "features.*.fill", "type": "string", "when": {"dtype": ["string"]}},
  {"name": "names", "type": "table"},
  {"name": "names.*", "type": "string"},
  {"name": "defaults", "type": "table"},
  {"name": "defaults.dense.rate", "type": "float"},
  {"name": "defaults.conv.rate", "type": "float"},
  {"name": "weights", "type": "table", "single": true},
  {"name": "free", "type": "table"}]}]})";

class NestedOptions : public CheckedOptions {
 protected:
  NestedOptions() : CheckedOptions(parse_note(kNote).plugins[0], {{"/base"}, {}}) {
    give("layers.0.type", "dense");
    give("layers.0.units", std::int64_t{10});
  }
};

TEST_F(NestedOptions, N_01c_GoodValuesCrossInTheirOwnTypes) {
  give("layers.0.rate", std::int64_t{1});
  give("layers.0.weights", "w.bin");
  give("layers.1.type", "conv");
  give("layers.1.size", std::int64_t{3});
  give("layers.2.type", "conv");
  give("layers.2.size", std::vector<std::int64_t>{3, 5});
  give("features.x.fill", 0.5);
  give("features.image/raw.0.dtype", "string");
  give("features.image/raw.0.fill", "none");
  give("names.dense/kernel", "other/kernel");
  give("free.any.key", true);
  EXPECT_EQ(check(), "");
  EXPECT_EQ(values_.size(), 13u);
  EXPECT_EQ(value("layers.0.rate")->type, BELAY_VALUE_FLOAT);
  EXPECT_EQ(detail::view(*static_cast<const belay_str*>(value("layers.0.weights")->data)), "/base/w.bin");
  EXPECT_EQ(value("layers.1.size")->type, BELAY_VALUE_INT);
  EXPECT_EQ(value("layers.2.size")->type, BELAY_VALUE_INT | BELAY_VALUE_LIST);
}

TEST_F(NestedOptions, AStringIsAListOfOneForATableThatMayBeAList) {
  give("weights", "balanced");
  EXPECT_EQ(check(), "");
  EXPECT_EQ(value("weights")->type, BELAY_VALUE_TEXT | BELAY_VALUE_LIST);
  EXPECT_EQ(value("weights")->count, 1u);
  EXPECT_EQ(detail::view(*static_cast<const belay_str*>(value("weights")->data)), "balanced");
}

TEST_F(NestedOptions, N_01d_EachProblemIsToldWithItsPlaceAndFix) {
  const struct {
    const char* key;
    OptionValue value;
    const char* expected;
  } cases[] = {
      {"layers.0.rat", 0.5,
       "10:1 \"layers.0.rat\" is not an option of model \"stack\" [did you mean \"rate\"? \"layers.0\" has: type, "
       "units, rate, weights]"},
      {"layers.0.zzz", 1.0,
       "10:1 \"layers.0.zzz\" is not an option of model \"stack\" [\"layers.0\" has: type, units, rate, weights]"},
      {"layers.0.rate", 1.5, "10:10 \"layers.0.rate\" is 1.5, must be at most 1 []"},
      {"layers.0.rate", "high", "10:10 \"layers.0.rate\" must be a number, not a string []"},
      {"layers.0.rate.x", 0.5, "10:1 \"layers.0.rate\" must be a number, not a table [write layers.0.rate = ...]"},
      {"layers.1.type", "dens",
       "10:10 \"layers.1.type\" is \"dens\", must be one of: dense, conv, flatten [did you mean \"dense\"?]"},
      {"layers.1.type", "dense",
       "10:1 model \"stack\" needs the option \"layers.1.units\" [layers[].units is an integer: outputs]"},
      {"layers.1.rate", 0.5, "10:1 model \"stack\" needs the option \"layers.1.type\" [layers[].type is a string]"},
      {"features.x", 3.0, "10:10 \"features.x\" must be a table [\"features.x\" has: dtype, fill]"},
      {"features.x.dtyp", "string",
       "10:1 \"features.x.dtyp\" is not an option of model \"stack\" [did you mean \"dtype\"? \"features.x\" has: "
       "dtype, fill]"},
      {"features.x.fill", "none", "10:10 \"features.x.fill\" must be a number, not a string []"},
      {"defaults.dens.rate", 0.5,
       "10:1 \"defaults.dens.rate\" is not an option of model \"stack\" [did you mean \"defaults.dense\"? \"defaults\" "
       "has: defaults.dense.rate, defaults.conv.rate]"},
      {"defaults.dense.rats", 0.5,
       "10:1 \"defaults.dense.rats\" is not an option of model \"stack\" [did you mean \"rate\"? \"defaults.dense\" "
       "has: rate]"},
      {"names.kernel", 1.0, "10:10 \"names.kernel\" must be a string, not a number [write it in quotes]"},
  };
  for (const auto& c : cases) {
    use_.options.resize(2);
    give(c.key, c.value);
    EXPECT_EQ(check(), c.expected) << c.key;
  }
}

TEST_F(NestedOptions, N_02a_AKeyOfAnotherKindOfTableIsNamedWithTheKindsThatHaveIt) {
  give("layers.0.size", std::int64_t{3});
  EXPECT_EQ(
      check(),
      "10:1 \"layers.0.size\" does not belong to type = \"dense\" [it is for type = conv; \"layers.0\" has: type, "
      "units, rate, weights]");
}

TEST_F(NestedOptions, N_02b_WhereTheKindItselfIsWrongThatIsTheOneProblem) {
  use_.options.clear();
  give("layers.0.type", "dens");
  give("layers.0.units", std::int64_t{3});
  EXPECT_EQ(check(),
            "8:10 \"layers.0.type\" is \"dens\", must be one of: dense, conv, flatten [did you mean \"dense\"?]");
}

TEST_F(NestedOptions, N_01e_ATableInPlaceOfAListOfTablesIsOneProblem) {
  for (const char* key : {"layers.type", "layers.x.type"}) {
    use_.options.clear();
    give(key, "dense");
    const std::string problem = check();
    EXPECT_NE(problem.find("8:1 \"layers"), problem.npos) << problem;
  }
  use_.options.clear();
  give("layers.type", "dense");
  give("layers.units", std::int64_t{3});
  EXPECT_EQ(check(),
            "8:1 \"layers\" must be a list of tables [write layers = [{ key = value }]; each has: type, units, size, "
            "rate, weights]");
  use_.options.clear();
  give("layers", std::vector<std::int64_t>{3});
  EXPECT_EQ(check(),
            "8:10 \"layers\" must be a list of tables [write layers = [{ key = value }]; each has: type, units, size, "
            "rate, weights]");
}

}  // namespace
}  // namespace belay::runtime
