// SPDX-License-Identifier: Apache-2.0
// Labels that are numbers, and the names of features, through the whole input.
#include <belay/testing/error_of.h>
#include <belay/testing/input_driver.h>
#include <belay/testing/temporary_folder.h>
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "plugins/inputs/input_test.h"

extern "C" const belay_module belay_module_csv;

namespace csv_labels_test {

using belay::testing::InputDriver;
using belay::testing::module_under_test;
using belay::testing::OptionValues;
using belay::testing::TemporaryFolder;
using input_test::error_at_open;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const belay_module& labels_module() { return module_under_test(belay_module_csv); }

class CsvLabels : public ::testing::Test {
 protected:
  OptionValues table(const std::string& text) { return {{"path", folder_.write("t.csv", text)}}; }
  bool has_logged(const OptionValues& options, const std::string& text) {
    InputDriver input(labels_module(), options);
    input.spec();
    return input.host().has_logged(text);
  }
  TemporaryFolder folder_;
};

TEST_F(CsvLabels, LeadingZerosThatANumberLosesAreNamed) {
  const std::string warning =
      "label \"kind\": its labels are the numbers of their classes, and lose the leading zeros that \"01\" (" +
      folder_.file("t.csv") + ":3:3) has; list the labels in 'classes' to keep them";
  const OptionValues codes = table("x,kind\n1,1\n2,01\n3,0\n");
  EXPECT_TRUE(has_logged(codes, warning));
  EXPECT_FALSE(has_logged(codes.with({"classes", std::vector<std::string>{"1", "01", "0"}}), warning));
  EXPECT_FALSE(has_logged(table("x,kind\n1,0\n2,0.0\n3,1\n"), "leading zeros"));
}

TEST_F(CsvLabels, ClassesWithoutARowAreNamed) {
  const auto expect = [&](const char* labels, const std::string& said) {
    EXPECT_TRUE(has_logged(table(labels), "label \"y\": it has " + said)) << labels;
  };
  expect("x,y\n1,1\n2,2\n",
         "3 classes, since it holds whole numbers up to 2, and no row has 0; classes = [\"1\", \"2\"] has");
  expect("x,y\n1,0\n2,3\n3,1\n", "4 classes, since it holds whole numbers up to 3, and no row has 2; classes = [");
  EXPECT_FALSE(has_logged(table("x,y\n1,1\n2,0\n3,2\n"), "no row has"));
  EXPECT_FALSE(has_logged(table("x,y\n1,a\n2,b\n"), "no row has"));
  const OptionValues part = table("x,y\n1,0\n2,1\n3,0\n4,1\n").with({"split", "train"}).with({"every", 2});
  EXPECT_FALSE(has_logged(part.with({"at", 0}), "no row has")) << "rows of other parts have it";
}

// pandas writes the whole numbers of a column that had a gap as 1.0.
TEST_F(CsvLabels, WholeNumbersWithADecimalPointAreTheSameClasses) {
  for (const char* labels : {"x,y\n1,1.0\n2,0.0\n3,2.0\n", "x,y\n1,1\n2,0\n3,2\n", "x,y\n1,1\n2,0.0\n3,2.\n"}) {
    InputDriver input(labels_module(), table(labels));
    EXPECT_THAT(input.spec()[1].class_names, ElementsAre("0", "1", "2")) << labels;
    input.open();
    EXPECT_THAT(input.next()->values<std::int64_t>("label"), ElementsAre(1, 0, 2)) << labels;
  }
}

TEST_F(CsvLabels, AConstantFeatureIsNotScaled) {
  std::string text = "x,c,y\n";
  for (int i = 0; i < 1000; ++i) text += std::to_string(i) + ",0.1," + std::to_string(i % 2) + "\n";
  for (const OptionValues& options :
       {table(text).with({"standardize", true}), table(text).with({"columns.c.scale", "standard"})}) {
    InputDriver train(labels_module(), options);
    const auto schema = train.schema();
    InputDriver other(labels_module(), options.with({"path", folder_.write("o.csv", "x,c,y\n1,0.1,0\n1,0.2,1\n")}));
    other.learn(schema, belay::InputUse::kEvaluation);
    other.open();
    const std::vector<float> features = other.next()->values<float>("features");
    EXPECT_NEAR(features[1], 0, 1e-6);
    EXPECT_NEAR(features[3], 0.1, 1e-6) << "and not 1e15";
  }
}

TEST_F(CsvLabels, ANumberThatIsConstantHasTheDeviation1) {
  std::string text = "x,y\n";
  for (int i = 0; i < 1000; ++i) text += std::to_string(i) + ",0.1\n";
  InputDriver input(labels_module(), table(text).with({"label_type", "float"}));
  const std::vector<double> moments = input.schema().values.at("label.moments");
  EXPECT_EQ(moments[1], 1);
  EXPECT_EQ(moments[3], 1);
}

TEST_F(CsvLabels, CategoriesOfSimilarNamesAreTwoFeatures) {
  const OptionValues ids =
      OptionValues{{"columns.年.type", "category"}, {"columns.年.deliver", "ids"}, {"columns.月.type", "category"}}
          .with({"columns.月.deliver", "ids"});
  InputDriver train(labels_module(), ids.with({"path", folder_.write("a.csv", "年,月,y\nu,v,p\nw,v,q\n")}));
  train.open();
  const auto batch = train.next();
  // 年 is before 月.
  EXPECT_THAT(batch->values<std::int64_t>("category.___"), ElementsAre(0, 1));
  EXPECT_THAT(batch->values<std::int64_t>("category.____2"), ElementsAre(0, 0));
  InputDriver turned(labels_module(), {{"path", folder_.write("b.csv", "月,y,年\nv,p,w\n")}});
  turned.learn(train.schema(), belay::InputUse::kEvaluation);
  turned.open();
  EXPECT_THAT(turned.next()->values<std::int64_t>("category.___"), ElementsAre(1));
}

TEST_F(CsvLabels, TwoFeaturesOfOneNameAreRefusedWithTheFix) {
  EXPECT_THAT(
      error_at_open(labels_module(), table("a,a=b,y\nb,1,p\nc,2,q\n")),
      HasSubstr("t.csv' are called \"a=b\": a column, and a word, a gap or a part of another one; rename the column"));
}

TEST_F(CsvLabels, AGapThatOnlyTheEvaluationHasIsFilled) {
  const OptionValues options = table("a,b,y\n1,5,p\n3,6,q\n,7,p\n2,8,q\n").with({"every", 4}).with({"at", 2});
  InputDriver train(labels_module(), options.with({"split", "train"}));
  train.spec();
  InputDriver eval(labels_module(), options.with({"split", "eval"}));
  eval.learn(train.schema(), belay::InputUse::kEvaluation);
  eval.open();
  EXPECT_THAT(eval.next()->values<float>("features"), ElementsAre(2, 7));
  // A model of numbers alone has no value for a gap.
  InputDriver numbers(labels_module(), table("a,b,y\n1,5,p\n3,6,q\n"));
  InputDriver gaps(labels_module(), {{"path", folder_.write("g.csv", "a,b\nNA,5\n")}});
  gaps.learn(numbers.schema(), belay::InputUse::kPrediction);
  EXPECT_THAT(
      belay::testing::error_of([&] { gaps.spec(); }),
      HasSubstr("g.csv:2:1: column \"a\" is \"NA\", not a number; repair the row, or train with type = \"number\" "
                "for it in 'columns', which fills gaps"));
}

class CsvNewCells : public CsvLabels {
 protected:
  // The lines that a later input of the model logs, of a table with these rows.
  std::vector<std::string> said(const OptionValues& trained, const std::string& rows,
                                belay::InputUse use = belay::InputUse::kPrediction) {
    InputDriver train(labels_module(), trained);
    train.spec();
    InputDriver later(labels_module(), {{"path", folder_.write("later.csv", rows)}});
    later.learn(train.schema(), use);
    later.spec();
    return later.host().logged();
  }
  OptionValues colours() { return table("c,x,y\nred,1,p\nblue,2,q\nred,3,p\ngreen,4,q\n"); }
  std::string later() const { return folder_.file("later.csv"); }
};

TEST_F(CsvNewCells, WordsThatTheModelDidNotLearnAreNamed) {
  const std::string warning = "warning: " + later() +
                              ":3:1: column \"c\": 2 of 3 cells are words that the model did not "
                              "learn, such as \"RED\" (did you mean \"red\"?)";
  for (const belay::InputUse use : {belay::InputUse::kPrediction, belay::InputUse::kEvaluation})
    EXPECT_THAT(said(colours(), "c,x,y\nred,1,p\nRED,1,p\n1.0,2,q\n", use), Contains(HasSubstr(warning)));
  EXPECT_THAT(said(colours(), "c,x\nred,1\nblue,2\n"), Not(Contains(HasSubstr("did not learn"))));
  std::string many = "c,x\nRED,1\n";
  for (int i = 0; i < 20; ++i) many += "red,1\n";
  EXPECT_THAT(said(colours(), many),
              Contains(HasSubstr("info: " + later() + ":2:1: column \"c\": 1 of 21 cells is a word")))
      << "few are usual";
  const OptionValues ids = colours().with({"columns.c.deliver", "ids"});
  EXPECT_THAT(said(ids, "c,x\nRED,1\n"), Contains(HasSubstr("column \"c\": 1 of 1 cells is a word")));
}

TEST_F(CsvNewCells, WordsThatWereTooRareForTheVocabularyAreNamedIfTheyAreMost) {
  const OptionValues rare = colours().with({"columns.c.min_count", 2});
  EXPECT_THAT(said(rare, "c,x\nblue,1\nred,2\nred,3\n"), Not(Contains(HasSubstr("did not learn"))));
  EXPECT_THAT(said(rare, "c,x\nblue,1\nRED,2\nred,3\n"), Contains(HasSubstr("2 of 3 cells are words")));
}

TEST_F(CsvNewCells, GapsThatTheTrainingDidNotHaveAreNamed) {
  EXPECT_THAT(said(colours(), "c,x\n,1\nred,2\n"),
              Contains(HasSubstr("warning: " + later() +
                                 ":2:1: column \"c\": 1 of 2 cells is a gap, and the training had "
                                 "none")));
  EXPECT_THAT(said(colours(), "c,x\nred,\nblue,NA\n"),
              Contains(HasSubstr("warning: " + later() + ":2:5: column \"x\": 2 of 2 cells are gaps")));
  EXPECT_THAT(said(colours(), "c,x\nred,\nblue,2\n"), Not(Contains(HasSubstr("cells")))) << "the median fills it";
}

TEST_F(CsvNewCells, AHelpThatAPredictionCannotFollowIsNotGiven) {
  EXPECT_THAT(
      belay::testing::error_of([&] { said(colours(), "c,x\nred,a\nred,b\nred,c\nred,d\nred,e\n"); }),
      ::testing::AllOf(HasSubstr("the model's training decided the column's type"), Not(HasSubstr("features ="))));
  const OptionValues dated = table("d,y\n1.2.2020,p\n3.4.2021,q\n")
                                 .with({"columns.d.type", "date"})
                                 .with({"columns.d.formats", std::vector<std::string>{"%d.%m.%Y"}});
  EXPECT_THAT(belay::testing::error_of([&] { said(dated, "d\n2020-02-01\n"); }),
              HasSubstr("not a date in one of the 'formats' (\"%d.%m.%Y\"); repair the row"));
}

TEST_F(CsvNewCells, APredictionOfAPartSaysWhatItsIndexIs) {
  const std::string note = "so a prediction's index is no row of the file; 'id' names a column";
  InputDriver train(labels_module(), colours());
  train.spec();
  const auto has_note = [&](const OptionValues& options) {
    InputDriver predict(labels_module(), options);
    predict.learn(train.schema(), belay::InputUse::kPrediction);
    predict.spec();
    return predict.host().has_logged(note);
  };
  EXPECT_TRUE(has_note(colours().with({"split", "eval"}).with({"every", 2})));
  EXPECT_FALSE(has_note(colours()));
}

TEST_F(CsvLabels, TwoClassesAreNamedWithTheirNumbers) {
  EXPECT_TRUE(has_logged(table("x,y\n1,No\n2,Yes\n3,No\n"),
                         "label \"y\": class 0 is \"No\" and class 1 is \"Yes\"; F1, AUC and threshold of a model are "
                         "about class 1, unless its positive_class is another"));
  EXPECT_FALSE(has_logged(table("x,y\n1,0\n2,1\n3,0\n"), "class 0 is"));
}

TEST_F(CsvLabels, AColumnWithADotInItsNameHasTheShortForm) {
  const OptionValues rows = table("blood.type,x.scale,y\n1,2,p\n3,4,q\n");
  InputDriver input(labels_module(), rows.with({"columns.blood.type", "category"}).with({"columns.x.scale", "number"}));
  EXPECT_EQ(input.spec()[0].dims.back(), 3) << "two words and a number";
  EXPECT_THAT(error_at_open(labels_module(), rows.with({"columns.blood.typ", "category"})), HasSubstr("did you mean"));
}

TEST_F(CsvLabels, AFeatureThatIsIgnoredIsRefused) {
  EXPECT_THAT(error_at_open(labels_module(), table("a,c,y\n1,2,p\n")
                                                 .with({"features", std::vector<std::string>{"a", "c"}})
                                                 .with({"columns.c.type", "ignore"})),
              HasSubstr("features: \"c\" has type = \"ignore\" in 'columns'; leave it out of one of the two"));
}

TEST_F(CsvLabels, AHeaderThatIsNoneIsNamedWithTheFix) {
  const auto error = [&](const std::string& text) {
    return error_at_open(labels_module(), table(text).with({"label", "y"}));
  };
  EXPECT_THAT(error("\"a b\";\"y\"\n1;p\n"), HasSubstr("t.csv:1:1: a quoted field is followed by more text; double the "
                                                       "quotes inside it, or set delimiter = \";\""));
  EXPECT_THAT(error("sep=;\na;y\n1;p\n"), HasSubstr("Excel's line about the delimiter: skip_lines = 1 passes over it"));
  EXPECT_THAT(error("# of 2025\na,y\n1,p\n"), HasSubstr("seems to be a comment: skip_lines = 1 passes over it"));
  EXPECT_THAT(error_at_open(labels_module(), table("a,b\n(kg),(m)\n1,2\n3,4\n")
                                                 .with({"label", ""})
                                                 .with({"columns.a.type", "number"})
                                                 .with({"columns.b.type", "number"})),
              HasSubstr("t.csv:2:1: column \"a\" is \"(kg)\""));
}

}  // namespace csv_labels_test
