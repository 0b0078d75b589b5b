// SPDX-License-Identifier: Apache-2.0
#include <belay/plugin.h>
#include <belay/testing/error_of.h>
#include <belay/testing/input_driver.h>
#include <gmock/gmock.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace {

using belay::testing::error_of;
using belay::testing::InputBatch;
using belay::testing::InputDriver;
using ::testing::ElementsAre;

// Counts up to 6 in batches of two, with a string each; `fault` names one way to break the contract.
class Counter final : public belay::Input {
 public:
  struct Options {
    belay::Str fault = "";
  };
  static constexpr auto about =
      belay::about("counter", "Counts", belay::option("fault", &Options::fault, "what to break"));
  explicit Counter(const Options& o) : o_(o) {}

  void spec(belay::InputSpec& spec) override {
    if (o_.fault == "no spec") return;
    spec.feature("number", belay::DType::kInt64, {-1});
    if (o_.fault == "named") spec.set_class_names(0, {"none", "one"}), spec.set_classes(0, 2);
    if (o_.fault == "more names") spec.set_classes(0, 1), spec.set_class_names(0, {"none", "one"});
    if (o_.fault == "more classes") spec.set_class_names(0, {"none", "one"}), spec.set_classes(0, 3);
    if (o_.fault == "same class") spec.set_class_names(0, {"one", "one"});
    if (o_.fault == "no names") spec.set_class_names(0, {});
    if (o_.fault == "names of nothing") spec.set_class_names(7, {"one"});
    spec.feature(o_.fault == "same name" ? "number" : "text", belay::DType::kString, {-1, 1});
    if (o_.fault == "label") spec.label("other", belay::DType::kFloat32, {-1, 2});
  }
  void open(const belay::OpenArgs& args) override {
    if (o_.fault == "open") belay::fail(belay::Code::kNotFound, "no file");
    base_ = static_cast<std::int64_t>(args.seed);
  }
  bool next(belay::Batch& batch, belay::Position& position) override {
    if (o_.fault == "next") belay::fail(belay::Code::kDataLoss, "record 7");
    if (at_ == 6 && o_.fault == "restarts") return at_ = 0, false;
    if (at_ == 6 && o_.fault != "endless") return false;
    if (o_.fault == "thread") {
      std::thread([&] { error_ = error_of([&] { batch.tensor(0, {2}); }); }).join();
      return position = {0, at_ += 2}, true;
    }
    if (o_.fault == "dims") batch.tensor(1, {2, 3});
    if (o_.fault == "slot") batch.tensor(9, {2});
    if (o_.fault == "twice") batch.tensor(0, {2});
    auto* numbers = batch.tensor(0, {2}).data<std::int64_t>();
    numbers[0] = base_ + at_;
    if (o_.fault != "unwritten") numbers[1] = base_ + at_ + 1;
    if (o_.fault == "random") numbers[1] = ++changing;
    if (o_.fault == "unfilled") return position = {0, at_ += 2}, true;
    batch.tensor(1, {o_.fault == "rows" ? 3 : 2, 1});
    batch.set_string(1, 1, "t" + std::to_string(at_));
    if (o_.fault == "no position") return true;
    if (o_.fault == "standstill") return position = {0, 2}, true;
    position = {0, at_ += 2};
    return true;
  }
  void seek(const belay::Position& position) override {
    if (o_.fault != "no seek") at_ = position.index;
  }

 private:
  Options o_;
  std::int64_t base_ = 0, at_ = 0;
  std::string error_;
  static inline std::int64_t changing = 0;
};

constexpr belay_input_api kCounter = belay::detail::make_table<Counter>();

InputDriver& opened(InputDriver& input) {
  input.open(0, 1, 10);
  return input;
}

TEST(InputDriver, ShowsWhatTheInputDeclaresAndDelivers) {
  InputDriver input(&kCounter);
  ASSERT_EQ(input.spec().size(), 2u);
  EXPECT_EQ(input.spec()[1].name, "text");
  EXPECT_EQ(input.spec()[1].dtype, belay::DType::kString);
  EXPECT_THAT(input.spec()[1].dims, ElementsAre(-1, 1));
  opened(input);
  const InputBatch batch = *input.next();
  EXPECT_EQ(batch.rows(), 2);
  EXPECT_THAT(batch.values<std::int64_t>("number"), ElementsAre(10, 11));
  EXPECT_EQ(batch.tensor("text").text(0), "");
  EXPECT_EQ(batch.tensor("text").text(1), "t0");
  EXPECT_EQ(batch.position.index, 2);
  EXPECT_EQ(error_of([&] { batch.tensor("image"); }), "NOT_FOUND: the batch has no tensor 'image'");
  EXPECT_EQ(input.all_batches().size(), 2u);
  EXPECT_FALSE(input.next());
  EXPECT_EQ(input.size(), -1);
}

TEST(InputDriver, ShowsTheNamesOfClasses) {
  InputDriver input(&kCounter, {{"fault", "named"}});
  EXPECT_EQ(input.spec()[0].classes, 2);
  EXPECT_THAT(input.spec()[0].class_names, ElementsAre("none", "one"));
  EXPECT_THAT(input.spec()[1].class_names, ElementsAre());
}

TEST(InputDriver, TheLawsHoldForAGoodInput) {
  InputDriver input(&kCounter);
  opened(input);
  EXPECT_EQ(input.difference_after_restart(10), "");
  EXPECT_EQ(input.difference_after_resume(10), "");
  EXPECT_EQ(input.difference_after_end(10), "");
}

TEST(InputDriver, TellsWhichLawIsBroken) {
  InputDriver random(&kCounter, {{"fault", "random"}}), stuck(&kCounter, {{"fault", "no seek"}}),
      again(&kCounter, {{"fault", "restarts"}});
  EXPECT_EQ(opened(random).difference_after_restart(10), "batch 0 differs: 'number' before {0, 2}");
  EXPECT_EQ(opened(stuck).difference_after_resume(10), "after seek to {0, 0}: 0 batches instead of 3");
  EXPECT_EQ(error_of([&] { opened(again).difference_after_end(10); }),
            "FAILED_PRECONDITION: a batch came after the end");
}

TEST(InputDriver, WhatThePluginThrowsComesOut) {
  InputDriver open(&kCounter, {{"fault", "open"}}), next(&kCounter, {{"fault", "next"}});
  EXPECT_EQ(error_of([&] { open.open(); }), "NOT_FOUND: no file");
  EXPECT_EQ(error_of([&] { opened(next).next(); }), "DATA_LOSS: record 7");
}

TEST(InputDriver, BreachesOfTheContractAreNamed) {
  struct Case {
    const char *fault, *error;
  };
  const Case cases[] = {
      {"no spec", "FAILED_PRECONDITION: the input declares no tensor"},
      {"same name", "ALREADY_EXISTS: 'number' is declared twice"},
      {"more names", "INVALID_ARGUMENT: 'number' has 1 classes and 2 class names"},
      {"more classes", "INVALID_ARGUMENT: 'number' has 3 classes and 2 class names"},
      {"same class", "INVALID_ARGUMENT: 'number' has two classes of the name 'one'"},
      {"no names", "INVALID_ARGUMENT: 'number' (int64) cannot have 0 classes; at least 1, of an integer"},
      {"names of nothing", "INVALID_ARGUMENT: there is no slot 7; the input declared 1 tensors"},
      {"label", "FAILED_PRECONDITION: next did not fill 'other'"},
      {"unfilled", "FAILED_PRECONDITION: next did not fill 'text'"},
      {"dims", "INVALID_ARGUMENT: 'text' was declared as [?, 1], the batch has [2, 3]"},
      {"slot", "INVALID_ARGUMENT: there is no slot 9; the input declared 2 tensors"},
      {"twice", "FAILED_PRECONDITION: 'number' was asked for twice"},
      {"rows", "FAILED_PRECONDITION: 'text' has another number of rows than 'number'"},
      {"no position", "FAILED_PRECONDITION: next went from position {0, 0} to {0, 0}"},
      {"thread",
       "FAILED_PRECONDITION: input.tensor was called from a thread of the plugin; it belongs to the session's thread"},
      {"endless", "FAILED_PRECONDITION: the input does not end within 3 batches"},
      {"standstill", "FAILED_PRECONDITION: next went from position {0, 2} to {0, 2}"},
  };
  for (const Case& c : cases) {
    InputDriver input(&kCounter, {{"fault", c.fault}});
    EXPECT_EQ(error_of([&] { opened(input).all_batches(3); }), c.error) << c.fault;
  }
  InputDriver input(&kCounter);
  EXPECT_EQ(error_of([&] { input.next(); }), "FAILED_PRECONDITION: next before open");
}

TEST(InputDriver, AnElementThatIsNotWrittenShows) {
  InputDriver input(&kCounter, {{"fault", "unwritten"}});
  EXPECT_EQ(opened(input).next()->values<std::int64_t>("number")[1], static_cast<std::int64_t>(0xa5a5a5a5a5a5a5a5u));
}

// Two columns and a label of classes, with a mean that it fits or takes from the training; `fault` names one way to
// break the contract, or not to match.
class Fitted final : public belay::Input {
 public:
  struct Options {
    belay::List<belay::Str> columns;
    belay::List<belay::Str> classes;
    double mean = 3;
    belay::Str fault = "";
  };
  static constexpr auto about = belay::about(
      "fitted", "Fits a mean", belay::option("columns", &Options::columns, "of the file"),
      belay::option("classes", &Options::classes, "of the file"), belay::option("mean", &Options::mean, "of the file"),
      belay::option("fault", &Options::fault, "what to break"));
  explicit Fitted(const Options& o) : o_(o) {
    for (const belay::Str& name : o.columns) columns_.push_back(name.string());
    for (const belay::Str& name : o.classes) classes_.push_back(name.string());
  }

  void spec(belay::InputSpec& s) override {
    const bool wide = o_.fault == "another shape";
    x_ = s.feature(o_.fault == "another name" ? "z" : "x", belay::DType::kFloat32, {-1, wide ? 3 : 2});
    if (o_.fault == "count") s.set_columns(x_, {"a"});
    if (o_.fault == "slot") s.set_columns(9, {"a", "b"});
    if (o_.fault == "equal") s.set_columns(x_, {"a", "a"});
    if (o_.fault == "no name") s.keep("", std::vector<double>{1});
    if (o_.fault == "nan") s.keep("mean", {1, std::nan("")});
    if (!columns_.empty() && !wide) s.set_columns(x_, columns_);
    if (s.use() != belay::InputUse::kPrediction && o_.fault != "no label") {
      y_ = s.label(o_.fault == "another label" ? "why" : "y", belay::DType::kInt64, {-1});
      if (o_.fault == "columns of the batch") s.set_columns(y_, {"a"});
      if (!classes_.empty()) s.set_class_names(y_, classes_);
    }
    if (o_.fault == "one more") s.feature("w", belay::DType::kFloat32, {-1});
    s.feature("id", belay::DType::kString, {-1});
    const std::vector<double> own{o_.mean};
    mean = o_.fault == "own mean" ? own : s.learned_values("mean").value_or(own);
    s.keep("mean", mean);
    if (o_.fault != "forgets") s.keep("words", std::vector<std::string>{"b", "a"});
    learned_columns = s.learned_columns("x").value_or(std::vector<std::string>{"none"});
    learned_classes = s.learned_class_names("y").value_or(std::vector<std::string>{"none"});
    learned_words = s.learned_words("words").value_or(std::vector<std::string>{"none"});
    learned = s.has_learned();
  }
  void open(const belay::OpenArgs&) override {}
  bool next(belay::Batch&, belay::Position&) override { return false; }
  void seek(const belay::Position&) override {}

  static inline std::vector<double> mean;
  static inline std::vector<std::string> learned_columns, learned_classes, learned_words;
  static inline bool learned = false;

 private:
  Options o_;
  std::vector<std::string> columns_, classes_;
  std::uint32_t x_ = 0, y_ = 0;
};

constexpr belay_input_api kFitted = belay::detail::make_table<Fitted>();
using Names = std::vector<std::string>;
using belay::InputUse;
using belay::testing::LearnedSchema;
using belay::testing::OptionValues;

const OptionValues kTraining = {{"columns", Names{"a", "b"}}, {"classes", Names{"cat", "dog"}}};

LearnedSchema learned_by_training() { return InputDriver(&kFitted, kTraining).schema(); }

TEST(InputDriver, ShowsColumnsAndWhatIsKept) {
  const LearnedSchema schema = learned_by_training();
  EXPECT_THAT(schema.find("x")->columns, ElementsAre("a", "b"));
  EXPECT_THAT(schema.find("y")->columns, ElementsAre());
  EXPECT_THAT(schema.values.at("mean"), ElementsAre(3));
  EXPECT_THAT(schema.words.at("words"), ElementsAre("b", "a"));
  EXPECT_EQ(schema.find("z"), nullptr);
  EXPECT_FALSE(Fitted::learned);
  EXPECT_THAT(Fitted::learned_columns, ElementsAre("none"));
}

TEST(InputDriver, AnotherInputReadsWhatTheTrainingLearned) {
  InputDriver eval(&kFitted, {{"mean", 7.0}});
  eval.learn(learned_by_training(), InputUse::kEvaluation);
  EXPECT_THAT(eval.schema().values.at("mean"), ElementsAre(3));
  EXPECT_TRUE(Fitted::learned);
  EXPECT_THAT(Fitted::learned_columns, ElementsAre("a", "b"));
  EXPECT_THAT(Fitted::learned_classes, ElementsAre("cat", "dog"));
  EXPECT_THAT(Fitted::learned_words, ElementsAre("b", "a"));
  EXPECT_EQ(eval.difference_from_learned(), "");
  EXPECT_EQ(error_of([&] { eval.learn({}, InputUse::kEvaluation); }),
            "FAILED_PRECONDITION: learn after spec; call it on a new driver, or after restart");
  eval.restart();
  EXPECT_EQ(eval.difference_from_learned(), "") << "it stays what it is in a new process";
}

TEST(InputDriver, APredictionNeedsNoLabel) {
  InputDriver predict(&kFitted, kTraining);
  predict.use_for(InputUse::kPrediction);
  EXPECT_EQ(predict.spec().size(), 2u);
  EXPECT_EQ(error_of([&] { predict.difference_from_learned(); }),
            "FAILED_PRECONDITION: there is nothing to compare with; call learn first");
  predict.restart();
  predict.learn(learned_by_training(), InputUse::kPrediction);
  EXPECT_EQ(predict.difference_from_learned(), "");
}

TEST(InputDriver, WhatTheHostCannotMatchIsNamed) {
  struct Case {
    OptionValues options;
    const char* difference;
  };
  const Case cases[] = {
      {{}, ""},  // it has no names
      {kTraining.with({"columns", Names{"b", "a"}}), ""},
      {kTraining.with({"classes", Names{"dog", "cat"}}), ""},
      {kTraining.with({"columns", Names{"b", "c"}}),
       "of its columns 'x' lacks 'a' and has 'c', unknown to the training"},
      {kTraining.with({"classes", Names{"dog"}}), ""},
      {kTraining.with({"fault", "another label"}), ""},
      {kTraining.with({"classes", Names{"dog", "cat", "cow"}}),
       "of its classes 'y' has 'cow', unknown to the training"},
      {kTraining.with({"fault", "another shape"}), "'x' is float32 [?, 3], the training's is float32 [?, 2]"},
      {kTraining.with({"fault", "another name"}), "the input lacks the feature 'x', which the training has"},
      {kTraining.with({"fault", "no label"}), "the input lacks the label 'y', which the training has"},
      {kTraining.with({"fault", "one more"}), "the input has 'w', which the training has not"},
      {kTraining.with({"fault", "own mean"}).with({"mean", 4.0}),
       "what the input keeps as 'mean' is not the training's"},
      {kTraining.with({"fault", "forgets"}), "the input does not keep 'words', as the training does"},
  };
  for (const Case& c : cases) {
    InputDriver eval(&kFitted, c.options);
    eval.learn(learned_by_training(), InputUse::kEvaluation);
    EXPECT_EQ(eval.difference_from_learned(), c.difference);
  }
}

TEST(InputDriver, WrongDeclarationsOfColumnsAndKeptValuesAreNamed) {
  struct Case {
    const char *fault, *error;
  };
  const Case cases[] = {
      {"count", "INVALID_ARGUMENT: 'x' was declared as [?, 2], which has no 1 columns"},
      {"columns of the batch", "INVALID_ARGUMENT: 'y' was declared as [?], which has no 1 columns"},
      {"slot", "INVALID_ARGUMENT: there is no slot 9; the input declared 1 tensors"},
      {"equal", "INVALID_ARGUMENT: 'x' has two columns of the name 'a'"},
      {"no name", "INVALID_ARGUMENT: what an input keeps needs a name"},
      {"nan", "INVALID_ARGUMENT: value 1 of 'mean' is not finite"},
  };
  for (const Case& c : cases) {
    InputDriver input(&kFitted, {{"fault", c.fault}});
    EXPECT_EQ(error_of([&] { input.spec(); }), c.error) << c.fault;
  }
}

// A host from before the slots has none of them.
TEST(InputDriver, AHostWithoutASchemaIsATraining) {
  belay_input_service old = {};
  old.struct_size = offsetof(belay_input_service, set_columns);
  const belay_input_service adopted = belay::detail::adopt(&old);
  const belay::InputSpec spec(&adopted, nullptr);
  EXPECT_EQ(spec.use(), InputUse::kTraining);
  EXPECT_FALSE(spec.has_learned());
  EXPECT_EQ(spec.learned_columns("x"), std::nullopt);
  EXPECT_EQ(spec.learned_values("mean"), std::nullopt);
}

}  // namespace
