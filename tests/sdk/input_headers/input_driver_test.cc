// SPDX-License-Identifier: Apache-2.0
#include <belay/plugin.h>
#include <belay/testing/error_of.h>
#include <belay/testing/input_driver.h>
#include <gmock/gmock.h>

#include <cstdint>
#include <string>
#include <thread>

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

}  // namespace
