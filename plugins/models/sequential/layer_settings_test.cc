// SPDX-License-Identifier: Apache-2.0
#include "layer_settings.h"

#include <belay/testing/error_of.h>
#include <belay/testing/option_values.h>
#include <gmock/gmock.h>

#include <functional>

namespace sequential_model {
namespace {

using belay::testing::error_of;
using belay::testing::OptionValue;
using belay::testing::RawOptions;
using ::testing::ElementsAre;
using Integers = std::vector<std::int64_t>;

class LayerSettingsTest : public ::testing::Test {
 protected:
  std::vector<LayerSettings> list(const std::vector<OptionValue>& values) {
    raw_ = std::make_unique<RawOptions>(values);
    return LayerSettings::of_list(belay::Table(raw_->data(), raw_->size()));
  }
  std::unique_ptr<RawOptions> raw_;
};

TEST_F(LayerSettingsTest, GroupsTheKeysByLayerAndReadsThem) {
  auto layers = list({{"0.units", 7},
                      {"0.type", "dense"},
                      {"1.type", "conv"},
                      {"1.size", Integers{3, 5}},
                      {"1.rate", 1},
                      {"1.use_bias", false},
                      {"1.padding", "SAME"},
                      {"1.strides", 2}});
  ASSERT_EQ(layers.size(), 2u);
  EXPECT_EQ(layers[0].type(), "dense");
  EXPECT_EQ(layers[0].integer("units", 1), 7);
  EXPECT_EQ(layers[0].integer("other", 1, 5), 5);
  EXPECT_EQ(layers[0].number("rate", 0, 1, 0.25), 0.25);
  EXPECT_TRUE(layers[0].boolean("use_bias", true));
  EXPECT_EQ(layers[0].text("padding", {"SAME", "VALID"}, "VALID"), "VALID");
  EXPECT_THAT(layers[0].height_width("size", 1), ElementsAre(1, 1));
  layers[0].refuse_unknown();
  EXPECT_EQ(layers[1].place(), "'layers.1' (conv)");
  EXPECT_THAT(layers[1].height_width("size"), ElementsAre(3, 5));
  EXPECT_THAT(layers[1].height_width("strides"), ElementsAre(2, 2));
  EXPECT_EQ(layers[1].number("rate", 0, 1, 0), 1);
  EXPECT_FALSE(layers[1].boolean("use_bias", true));
  EXPECT_EQ(layers[1].text("padding", {"SAME", "VALID"}), "SAME");
  layers[1].refuse_unknown();
}

TEST_F(LayerSettingsTest, ADefaultHoldsForTheLayersOfItsTypeThatDoNotSayIt) {
  const RawOptions raw({{"0.type", "dense"}, {"1.type", "dense"}, {"1.activation", "none"}, {"2.type", "conv"}});
  const RawOptions by_type({{"dense.activation", "relu"}, {"dense.use_bias", false}, {"gru.return_sequences", true}});
  auto layers =
      LayerSettings::of_list(belay::Table(raw.data(), raw.size()), belay::Table(by_type.data(), by_type.size()));
  const std::vector<std::string> functions = {"none", "relu", "tanh"};
  ASSERT_EQ(layers.size(), 3u);
  EXPECT_EQ(layers[0].text("activation", functions, "tanh"), "relu");
  EXPECT_FALSE(layers[0].boolean("use_bias", true));
  EXPECT_EQ(layers[1].text("activation", functions, "tanh"), "none") << "what the layer says wins";
  EXPECT_EQ(layers[2].text("activation", functions, "tanh"), "tanh") << "of another type";
}

TEST_F(LayerSettingsTest, AListOfAnotherFormIsRefused) {
  const std::string form =
      "INVALID_ARGUMENT: 'layers' must be a list of tables: layers = [{ type = \"dense\", units = 10 }]";
  for (const char* key : {"dense", "dense.units", "0", "0.", "x.units", "99999999999999999999.type", "10000.type"})
    EXPECT_EQ(error_of([&] { list({{key, 1}}); }), form) << key;
  EXPECT_EQ(error_of([&] { list({}); }), form);
  EXPECT_EQ(error_of([&] {
              list({{"0.units", 1}});
            }),
            "INVALID_ARGUMENT: 'layers.0': there is no 'type'; name the layer's, such as type = \"dense\"");
  EXPECT_EQ(error_of([&] {
              list({{"1.type", "dense"}});
            }),
            "INVALID_ARGUMENT: 'layers.0': there is no 'type'; name the layer's, such as type = \"dense\"");
  EXPECT_EQ(error_of([&] {
              list({{"0.type", 3}});
            }),
            "INVALID_ARGUMENT: 'layers.0': 'type' must be a string such as \"dense\"");
}

TEST_F(LayerSettingsTest, AValueThatDoesNotFitIsNamed) {
  const struct {
    OptionValue value;
    std::function<void(LayerSettings&)> read;
    const char* error;
  } cases[] = {
      {{"0.a", 0}, [](LayerSettings& s) { s.integer("a", 1); }, "'a' is 0, must be >= 1"},
      {{"0.a", 1.5}, [](LayerSettings& s) { s.integer("a", 1); }, "'a' must be an integer"},
      {{"0.a", Integers{1}}, [](LayerSettings& s) { s.integer("a", 1); }, "'a' must be an integer"},
      {{"0.b", 1}, [](LayerSettings& s) { s.integer("a", 1); }, "'a' is required"},
      {{"0.a", 1.5}, [](LayerSettings& s) { s.number("a", 0, 1, 0); }, "'a' is 1.5, must be from 0 to 1"},
      {{"0.a", "x"}, [](LayerSettings& s) { s.number("a", 0, 1, 0); }, "'a' must be a number"},
      {{"0.a", 1}, [](LayerSettings& s) { s.boolean("a", true); }, "'a' must be true or false"},
      {{"0.a", 1}, [](LayerSettings& s) { s.text("a", {"x"}); }, "'a' must be a string"},
      {{"0.b", 1}, [](LayerSettings& s) { s.text("a", {"x"}); }, "'a' is required"},
      {{"0.a", "rely"},
       [](LayerSettings& s) {
         s.text("a", {"relu", "tanh"});
       },
       "'a' is \"rely\" (did you mean \"relu\"?), must be one of: relu, tanh"},
      {{"0.a", Integers{1, 2, 3}},
       [](LayerSettings& s) { s.height_width("a"); },
       "'a' must be an integer, or [height, width]"},
      {{"0.a", Integers{1, 0}}, [](LayerSettings& s) { s.height_width("a"); }, "'a' is 0, must be >= 1"},
      {{"0.a", 3}, [](LayerSettings& s) { s.integers("a"); }, "'a' must be a list of integers"},
      {{"0.unit", 3},
       [](LayerSettings& s) {
         s.integer("units", 1, 1);
         s.text("activation", {"relu"}, "relu");
         s.refuse_unknown();
       },
       "'unit' is unknown (did you mean \"units\"?); it has units, activation"},
  };
  for (const auto& c : cases) {
    auto layers = list({{"0.type", "dense"}, c.value});
    EXPECT_EQ(error_of([&] { c.read(layers[0]); }), std::string("INVALID_ARGUMENT: 'layers.0' (dense): ") + c.error);
  }
}

}  // namespace
}  // namespace sequential_model
