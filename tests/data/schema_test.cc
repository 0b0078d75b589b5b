// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/schema.h"

#include <belay/testing/error_of.h>
#include <gmock/gmock.h>

#include "runtime/data/input_service.h"

namespace belay::runtime {
namespace {

using belay::testing::error_of;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

InputComponent feature(std::vector<std::string> columns, DType dtype = DType::kFloat32) {
  return {false, "features", dtype, {-1, static_cast<std::int64_t>(columns.size())}, 0, {}, std::move(columns)};
}
InputComponent label(std::vector<std::string> classes) {
  return {true, "label", DType::kInt64, {-1}, static_cast<std::int64_t>(classes.size()), std::move(classes), {}};
}
Schema schema(std::vector<std::string> columns, std::vector<std::string> classes) {
  return {"csv", {feature(std::move(columns)), label(std::move(classes))}, {}, {}};
}

// One batch of [2, columns] numbers and two labels.
std::vector<DenseTensor> batch(const std::vector<float>& numbers, const std::vector<std::int64_t>& labels) {
  const auto rows = static_cast<std::int64_t>(labels.size());
  std::vector<DenseTensor> tensors;
  tensors.emplace_back(DType::kFloat32, Dims{rows, static_cast<std::int64_t>(numbers.size()) / rows});
  tensors.emplace_back(DType::kInt64, Dims{rows});
  std::copy(numbers.begin(), numbers.end(), static_cast<float*>(tensors[0].view().data));
  std::copy(labels.begin(), labels.end(), static_cast<std::int64_t*>(tensors[1].view().data));
  return tensors;
}
template <class T>
std::vector<T> values(const DenseTensor& tensor) {
  const TensorView view(tensor.view());
  const T* data = view.data<const T>();
  return {data, data + view.size()};
}

TEST(SchemaMatch, T_101_ColumnsComeIntoTheTrainingsOrder) {
  const SchemaMatch match =
      match_schema(schema({"a", "b", "c"}, {"x", "y"}), schema({"c", "a", "b"}, {"x", "y"}), {"eval"});
  EXPECT_THAT(match.problems, ElementsAre());
  EXPECT_FALSE(match.identical());
  EXPECT_THAT(match.components[0].columns, ElementsAre("a", "b", "c"));
  const auto pool = BufferPool::make();
  std::vector<DenseTensor> delivered = batch({3, 1, 2, 30, 10, 20}, {0, 1});
  match.arrange(delivered, *pool);
  EXPECT_THAT(values<float>(delivered[0]), ElementsAre(1, 2, 3, 10, 20, 30));
  EXPECT_THAT(values<std::int64_t>(delivered[1]), ElementsAre(0, 1));
}

TEST(SchemaMatch, T_102_ClassWordsGetTheTrainingsNumbers) {
  const SchemaMatch match = match_schema(schema({"a"}, {"x", "y", "z"}), schema({"a"}, {"z", "x"}), {"eval"});
  EXPECT_THAT(match.problems, ElementsAre());
  EXPECT_EQ(match.components[1].classes, 3);
  EXPECT_THAT(match.components[1].class_names, ElementsAre("x", "y", "z"));
  const auto pool = BufferPool::make();
  std::vector<DenseTensor> delivered = batch({1, 2}, {0, 1});
  match.arrange(delivered, *pool);
  EXPECT_THAT(values<std::int64_t>(delivered[1]), ElementsAre(2, 0));
  std::vector<DenseTensor> outside = batch({1, 2}, {0, 2});
  EXPECT_THAT(error_of([&] { match.arrange(outside, *pool); }),
              HasSubstr("\"label\" has the class 2, and the input declared 2"));
}

TEST(SchemaMatch, TheSameSchemaLeavesBatchesAlone) {
  EXPECT_TRUE(match_schema(schema({"a", "b"}, {"x"}), schema({"a", "b"}, {"x"}), {"eval"}).identical());
}

TEST(SchemaMatch, T_107_MissingAndSuperfluousNamesAreNamed) {
  EXPECT_THAT(match_schema(schema({"a", "b"}, {"x"}), schema({"b", "c"}, {"x", "w"}), {"eval"}).problems,
              ElementsAre("[input.eval] feature \"features\" lacks \"a\", which the training had as a column",
                          "[input.eval] feature \"features\" has \"c\", which is no column of the training",
                          "[input.eval] label \"label\" has \"w\", which the training did not have; it had \"x\""));
  Schema other = schema({"a"}, {"x"});
  other.components[0].name = "image";
  EXPECT_THAT(match_schema(schema({"a"}, {"x"}), other, {"eval"}).problems,
              ElementsAre("[input.eval] has no feature \"features\", which the training had; it has: image",
                          "[input.eval] has the feature \"image\", which the training did not have"));
}

TEST(SchemaMatch, AnotherTypeOrShapeIsAProblem) {
  Schema other = schema({"a", "b"}, {"x"});
  other.components[0].dtype = DType::kUInt8;
  EXPECT_THAT(match_schema(schema({"a", "b"}, {"x"}), other, {"eval"}).problems,
              ElementsAre("[input.eval] feature \"features\" is uint8 [?, 2], in the training it was float32 [?, 2]"));
  Schema wide = schema({"a", "b", "c"}, {"x"});
  wide.components[0].columns.clear();
  EXPECT_THAT(
      match_schema(schema({"a", "b"}, {"x"}), wide, {"eval"}).problems,
      ElementsAre("[input.eval] feature \"features\" is float32 [?, 3], in the training it was float32 [?, 2]"));
}

TEST(SchemaMatch, APredictionNeedsNoLabelAndTakesNone) {
  Schema without = schema({"a"}, {});
  without.components.pop_back();
  const MatchedInput predict{"predict", InputUse::kPrediction, {}, false};
  EXPECT_THAT(match_schema(schema({"a"}, {"x"}), without, predict).problems, ElementsAre());
  const SchemaMatch with = match_schema(schema({"a"}, {"x"}), schema({"a"}, {"other"}), predict);
  EXPECT_THAT(with.problems, ElementsAre());
  EXPECT_EQ(with.components.size(), 1u);
  EXPECT_THAT(match_schema(schema({"a"}, {"x"}), without, {"eval"}).problems,
              ElementsAre("[input.eval] has no label \"label\", which the training had; it has none"));
}

TEST(SchemaMatch, T_104_WhatWasFittedIsTheTrainingsUnlessTheOptionIsSet) {
  Schema trained = schema({"a"}, {"x"}), own = schema({"a"}, {"x"});
  trained.kept["scale"] = std::vector<double>{2};
  EXPECT_THAT(match_schema(trained, own, {"eval"}).problems,
              ElementsAre("[input.eval] does not use \"scale\", which the training fitted (2)"));
  own.kept["scale"] = std::vector<double>{3};
  EXPECT_THAT(match_schema(trained, own, {"eval"}).problems,
              ElementsAre("[input.eval] has another \"scale\" (3) than the training (2)"));
  EXPECT_THAT(match_schema(trained, own, {"eval", InputUse::kEvaluation, {"scale"}, false}).problems, ElementsAre());
  trained.kept.clear();
  EXPECT_THAT(match_schema(trained, own, {"eval"}).problems,
              ElementsAre("[input.eval] fits \"scale\" (3), which the training did not"));
}

TEST(SchemaMatch, T_101_AnotherPluginNeedNotKnowWhereTheTrainingsFilesHaveTheLabel) {
  Schema trained = schema({"a"}, {"x"}), own = schema({"a"}, {"x"});
  trained.kept["label"] = std::vector<std::string>{"kind"};
  trained.kept["id"] = std::vector<std::string>{"key"};
  trained.kept["ignored"] = std::vector<std::string>{"customer"};
  own.plugin = "npy";
  EXPECT_THAT(match_schema(trained, own, {"eval"}).problems, ElementsAre());
  trained.kept["label"] = std::vector<double>{2};
  EXPECT_THAT(
      match_schema(trained, own, {"eval"}).problems,
      ElementsAre("[input.eval] does not use \"label\", which the training fitted (2); it is the input \"npy\", "
                  "the training's is \"csv\""));
}

TEST(SchemaMatch, AnotherPluginNeedNotKeepWhatTheTrainingMeasuredOfItsLabel) {
  Schema trained = schema({"a"}, {"x"}), own = schema({"a"}, {"x"});
  trained.kept["label.counts"] = std::vector<double>{5};
  EXPECT_THAT(match_schema(trained, own, {"eval"}).problems,
              ElementsAre("[input.eval] does not use \"label.counts\", which the training fitted (5)"));
  own.plugin = "npy";
  EXPECT_THAT(match_schema(trained, own, {"eval"}).problems, ElementsAre());
}

TEST(Schema, AWeightIsNoSecondLabelWithClasses) {
  Schema trained = schema({"a"}, {"x"});
  trained.components.push_back({true, "weight", DType::kFloat32, {-1}, 0, {}});
  EXPECT_THAT(class_names_of(trained.components), ElementsAre("x"));
  trained.components.back().name = "other";
  EXPECT_THAT(class_names_of(trained.components), ElementsAre());
}

TEST(Schema, ALabelIsDeclaredWithItsFacts) {
  Schema trained = schema({"a"}, {"x", "y"});
  trained.kept["label.counts"] = std::vector<double>{5, 7};
  trained.kept["label.moments"] = std::vector<double>{1, 2, 3, 4};
  const std::vector<DeclaredLabel> labels = declared_labels(trained);
  ASSERT_EQ(labels.size(), 1u);
  EXPECT_THAT(labels[0].class_names, ElementsAre("x", "y"));
  EXPECT_THAT(labels[0].class_counts, ElementsAre(5, 7));
  EXPECT_EQ(labels[0].deviation, 2);
  EXPECT_EQ(labels[0].log_mean, 3);
  trained.kept["label.counts"] = std::vector<double>{5};
  EXPECT_THAT(declared_labels(trained)[0].class_counts, ElementsAre()) << "not one for each class";
}

TEST(SchemaMatch, T_104_AScaleThatIsInheritedIsForElementsOfTheTrainingsType) {
  Schema trained = schema({"a"}, {"x"}), own = schema({"a"}, {"x"});
  trained.kept["scale.dtype"] = std::vector<std::string>{"uint8"};
  own.kept["scale.dtype"] = std::vector<std::string>{"float32"};
  EXPECT_THAT(match_schema(trained, own, {"eval"}).problems,
              ElementsAre("[input.eval] has another \"scale.dtype\" (\"float32\") than the training (\"uint8\")"));
  MatchedInput said{"eval"};
  said.said = {"scale"};
  EXPECT_THAT(match_schema(trained, own, said).problems, ElementsAre());
}

TEST(SchemaMatch, AnEmptyListThatWasKeptIsTheSameAfterItWasReadBack) {
  Schema own = schema({"a"}, {"x"});
  own.kept["none"] = std::vector<double>{};
  EXPECT_THAT(match_schema(parse_schema(format_schema(own)), own, {"eval"}).problems, ElementsAre());
}

TEST(SchemaMatch, T_101_OfAPartOfAModelTheFeaturesHoldAndTheLabelsAreTheDatasOwn) {
  Schema trained = schema({"a", "b"}, {"x", "y"});
  trained.kept["label"] = std::vector<std::string>{"kind"};
  trained.kept["standardize.mean"] = std::vector<double>{1, 2};
  trained.options = {{"label_type", std::string("class")}, {"standardize", true}};
  const Schema part = features_of(trained);
  ASSERT_EQ(part.components.size(), 1u);
  ASSERT_EQ(part.kept.size(), 1u);
  EXPECT_EQ(part.kept.begin()->first, "standardize.mean");
  ASSERT_EQ(part.options.size(), 1u);
  EXPECT_EQ(part.options[0].key, "standardize");

  Schema own = schema({"b", "a"}, {"other", "y", "z"});
  own.kept["label"] = std::vector<std::string>{"sort"};
  own.kept["standardize.mean"] = std::vector<double>{1, 2};
  const SchemaMatch match = match_schema(part, own, {"train", InputUse::kTraining});
  EXPECT_THAT(match.problems, ElementsAre());
  EXPECT_THAT(match.components[0].columns, ElementsAre("a", "b"));
  ASSERT_EQ(match.components.size(), 2u);
  EXPECT_THAT(match.components[1].class_names, ElementsAre("other", "y", "z"));
  EXPECT_THAT(match_schema(part, schema({"a"}, {"x"}), {"train", InputUse::kTraining}).problems,
              Contains(HasSubstr("lacks \"b\"")));
}

TEST(SchemaMatch, T_101_WhatOneOfBothDoesNotNameIsAWarning) {
  const Schema names = schema({"a", "b"}, {"x", "y"});
  Schema none = names;
  none.components[0].columns.clear();
  none.components[1].class_names.clear();
  EXPECT_THAT(
      match_schema(names, none, {"eval"}).by_place,
      ElementsAre("[input.eval] does not name the columns of feature \"features\", and the training did: they are "
                  "taken by their places",
                  "[input.eval] does not name the classes of label \"label\", and the training did: they are "
                  "taken by their places"));
  EXPECT_THAT(
      match_schema(none, names, {"eval"}).by_place,
      Contains("[input.eval] names the columns of feature \"features\", and the training did not: they are taken "
               "by their places"));
  EXPECT_THAT(match_schema(names, names, {"eval"}).by_place, ElementsAre());
  EXPECT_THAT(match_schema(none, none, {"eval"}).by_place, ElementsAre());
  Schema numbered = schema({"a", "b"}, {"0", "1"});
  none.components[0] = numbered.components[0];
  EXPECT_THAT(match_schema(numbered, none, {"eval"}).by_place, ElementsAre());
}

TEST(SchemaMatch, OneLabelMayHaveAnotherName) {
  Schema other = schema({"a"}, {"x"});
  other.components[1].name = "kind";
  const SchemaMatch match = match_schema(schema({"a"}, {"x"}), other, {"eval"});
  EXPECT_THAT(match.problems, ElementsAre());
}

TEST(SchemaDifferences, T_101_AnotherOrderIsNone) {
  Schema trained = schema({"a", "b"}, {"x", "y"}), now = schema({"b", "a"}, {"y", "x"});
  trained.kept["mean"] = std::vector<double>{1, 200};
  now.kept["mean"] = std::vector<double>{200.00000001, 1};
  EXPECT_THAT(differences_between(trained, now), ElementsAre());
}

TEST(SchemaDifferences, T_101_OtherColumnsWordsAndFitsAreNamed) {
  Schema trained = schema({"a", "b"}, {"x", "y"}), now = schema({"b", "c"}, {"x", "z"});
  trained.kept["mean"] = std::vector<double>{1, 200};
  now.kept["mean"] = std::vector<double>{200, 3};
  now.kept["words"] = std::vector<std::string>{"w"};
  now.components.push_back({false, "more", DType::kInt64, {-1}, 0, {}, {}});
  EXPECT_THAT(differences_between(trained, now),
              ElementsAre("column \"c\" of feature \"features\" is new", "column \"a\" of feature \"features\" is gone",
                          "classes of label \"label\" differ: the training had \"x\", \"y\"; now \"x\", \"z\"",
                          "feature \"more\" is new", "fitted \"mean\" differs: the training had 1, 200; now 200, 3",
                          "fitted \"words\" is new: \"w\""));
  Schema other = schema({"a", "b"}, {"x", "y"});
  other.components[0].dtype = DType::kUInt8;
  EXPECT_THAT(differences_between(schema({"a", "b"}, {"x", "y"}), other),
              ElementsAre("feature \"features\" was float32 [?, 2], is uint8 [?, 2]"));
}

TEST(SchemaJson, EverythingIsReadBack) {
  Schema s = schema({"a", "b\"\n"}, {"x", std::string("\xff\x00", 2)});
  s.components.push_back({true, "id", DType::kString, {-1}, 0, {}, {}});
  s.kept["mean"] = std::vector<double>{0.1, 1e-300, -3};
  s.kept["words"] = std::vector<std::string>{"\xfe", "y"};
  s.options = {{"scale", 0.5},
               {"names", std::vector<std::string>{"p"}},
               {"n", std::int64_t{3}},
               {"on", true},
               {"text", std::string("t")},
               {"none", std::monostate()}};
  const Schema read = parse_schema(format_schema(s));
  EXPECT_EQ(read.plugin, "csv");
  EXPECT_EQ(format_schema(read), format_schema(s));
  ASSERT_EQ(read.components.size(), 3u);
  EXPECT_EQ(read.components[0].columns, s.components[0].columns);
  EXPECT_EQ(read.components[1].class_names, s.components[1].class_names);
  EXPECT_EQ(read.kept, s.kept);
  EXPECT_EQ(read.options, s.options);
}

TEST(SchemaJson, DamageIsNamed) {
  EXPECT_THAT(error_of([] { parse_schema("{"); }),
              HasSubstr("DATA_LOSS: [B3010] schema.json is not what belay writes: "));
  EXPECT_THAT(error_of([] { parse_schema("{\"format\": 2}"); }),
              HasSubstr("FAILED_PRECONDITION: [B3011] it is of format 2"));
}

}  // namespace
}  // namespace belay::runtime
