// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/tables/new_manifest.h"

#include <gmock/gmock.h>

#include <fstream>
#include <iterator>
#include <sstream>

#include "belay/testing/error_of.h"
#include "belay/testing/temporary_folder.h"

namespace belay::runtime {
namespace {

using belay::testing::error_of;
using ::testing::HasSubstr;
using ::testing::Not;

class NewManifestTest : public ::testing::Test {
 protected:
  // Returns a table: a number with gaps and a word, a word, a date, a constant, an id and two labels.
  static std::string table(const std::string& last = "") {
    std::string text = "age,city,since,same,key,left,rent\n";
    for (int i = 0; i < 60; ++i)
      text += (i == 7   ? "NA"
               : i == 9 ? "old"
                        : std::to_string(20 + i % 13)) +
              "," + (i % 3 ? "Bonn" : "Ulm") + "," + std::to_string(1 + i % 28) + ".01.2025,1," +
              std::to_string(1000 + i) + "," + (i % 4 ? "no" : "yes") + "," + std::to_string(300.5 + i % 17) + "\n";
    return text + last;
  }
  NewManifest wanted(const std::string& text, const std::string& label) {
    return {"flats", {{folder_.write("x.csv", text)}}, label, "random", true};
  }

  testing::TemporaryFolder folder_;
  const std::string path_ = folder_.file("x.csv");
};

TEST_F(NewManifestTest, EachColumnIsWrittenOutWithItsType) {
  const std::string text = manifest_text(wanted(table(), "left"));
  EXPECT_THAT(text, HasSubstr("label = \"left\"\nlabel_type = \"class\"\n"));
  EXPECT_THAT(text, Not(HasSubstr("\ngaps = ")));
  EXPECT_THAT(text, HasSubstr("\nage = { type = \"number\", indicator = true, gaps = [\"\", \"NA\", \"N/A\", \"null\", "
                              "\"?\", \"old\"] }"));
  EXPECT_THAT(text, HasSubstr("# 20 to 32; 1 gap; these become gaps: old\n"));
  EXPECT_THAT(text, HasSubstr("\ncity = { type = \"category\", deliver = \"ids\" }"));
  EXPECT_THAT(text, HasSubstr("\nsince = { type = \"date\", formats = [\"%d.%m.%Y\"] }"));
  EXPECT_THAT(text, HasSubstr("\nsame = { type = \"ignore\" }"));
  EXPECT_THAT(text, HasSubstr("\nkey = { type = \"ignore\" }"));
  EXPECT_THAT(text, HasSubstr("\nrent = { type = \"number\" }"));
  EXPECT_THAT(text, Not(HasSubstr("\nleft = {")));
  EXPECT_THAT(text, HasSubstr("eval_fraction = 0.2 "));
  EXPECT_THAT(text, HasSubstr("plugin = \"tabular\"\nhidden = [64, 32]\nloss = \"cross_entropy\"\n"));
}

TEST_F(NewManifestTest, ANumberIsPredictedAsANumber) {
  NewManifest wanted = this->wanted(table(), "rent");
  wanted.split = "every";
  const std::string text = manifest_text(wanted);
  EXPECT_THAT(text, HasSubstr("label_type = \"float\"\n"));
  EXPECT_THAT(text, HasSubstr("loss = \"squared\"\nlabel_scale = \"standard\"\n"));
  EXPECT_THAT(text, HasSubstr("\nat = 4\n"));
  wanted.has_tabular = false;
  EXPECT_THAT(manifest_text(wanted), HasSubstr("plugin = \"mlp\"\nhidden = [64, 32]\n\n"));
  EXPECT_THAT(manifest_text(wanted), Not(HasSubstr("ids")));
  EXPECT_THAT(manifest_text(this->wanted("a,y\n1,0\n2,1\n3,0\n4,2\n", "y")), HasSubstr("\"class\""));
}

TEST_F(NewManifestTest, AColumnWithoutANameOfItsOwnHasItsNumber) {
  const std::string text = manifest_text(wanted("a,,a,y\n1,2,3,p\n2,3,4,q\n3,9,9,p\n", "y"));
  for (const char* line : {"\n0 = { type", "\n1 = { type", "\n2 = { type"}) EXPECT_THAT(text, HasSubstr(line));
}

TEST_F(NewManifestTest, ANumberThatIsTheNameOfAnotherColumnIsNotUsedForOne) {
  const std::string text = manifest_text(wanted(",0,1,y\n0,2,3,p\n1,3,4,q\n2,9,9,p\n", "y"));
  for (const char* line : {"\n-4 = { type", "\n0 = { type", "\n1 = { type"}) EXPECT_THAT(text, HasSubstr(line));
}

TEST_F(NewManifestTest, ClassesAreListedUnlessTheyAreTheNumbersFrom0On) {
  const auto of = [&](const std::string& a, const std::string& b) {
    return manifest_text(wanted("x,y\n1," + a + "\n2," + b + "\n3," + a + "\n4," + b + "\n", "y"));
  };
  EXPECT_THAT(of("2", "1"), HasSubstr("\nlabel_type = \"class\"\nclasses = [\"1\", \"2\"]\n"));
  EXPECT_THAT(of("00", "01"), HasSubstr("\nclasses = [\"00\", \"01\"]\n"));
  for (const std::string& text : {of("0", "1"), of("1.0", "0.0"), of("yes", "no")}) {
    EXPECT_THAT(text, HasSubstr("\nlabel_type = \"class\"\n"));
    EXPECT_THAT(text, Not(HasSubstr("classes = ")));
  }
}

TEST_F(NewManifestTest, ANumberWithACommaIsNoGap) {
  std::string table = "price,x,y\n";
  for (int i = 0; i < 40; ++i)
    table += (i % 4 == 3 ? "\"1,20" + std::to_string(i % 10) + "\"" : std::to_string(500 + i)) + ",1.5,p" +
             std::to_string(i % 2) + "\n" + std::to_string(i) + ",2,q\n";
  const std::string text = manifest_text(wanted(table, "y"));
  EXPECT_THAT(text, HasSubstr("\nprice = { type = \"ignore\" }"));
  EXPECT_THAT(text, HasSubstr("# 10 rows have numbers with a comma, such as "));
}

TEST_F(NewManifestTest, LinesBeforeTheHeaderAndQuotesInItAreNoObstacle) {
  NewManifest skips = wanted("sep=;\n\"a b\";\"y\"\n1;p\n2;q\n3;p\n", "y");
  skips.data.skip_lines = 1;
  EXPECT_THAT(manifest_text(skips), HasSubstr("\nskip_lines = 1\ndelimiter = \";\"\n"));
}

TEST_F(NewManifestTest, ATableThatCannotBeTrainedOnIsRefused) {
  const struct {
    std::string table, label, error;
  } cases[] = {
      {table("1,2\n"), "left", "DATA_LOSS: [B3036] " + path_ + ":62:4: 2 columns, expected 7"},
      {table(",,,,,,1\n"), "left",
       "FAILED_PRECONDITION: [B5012] --label: 1 row of '" + path_ + "' has no \"left\"; remove these rows"},
      {table(), "since",
       "INVALID_ARGUMENT: [B5012] --label: \"since\" is neither a number nor a class: it has 28 different cells"},
      {table(), "same", "INVALID_ARGUMENT: [B5012] --label: each row has the same \"same\"; there is nothing to learn"},
      {table(), "age", "FAILED_PRECONDITION: [B5012] --label: 1 row of"},
      {table("20,K\xf6ln,1.01.2025,1,2000,no,300\n"), "left",
       "DATA_LOSS: [B3032] " + path_ + ":62:5: this is no UTF-8"},
      {table(), "lft", "NOT_FOUND: [B3041] --label: '" + path_ + "' has no column \"lft\" (did you mean \"left\"?)"},
  };
  for (const auto& c : cases)
    EXPECT_THAT(error_of([&] { manifest_text(wanted(c.table, c.label)); }), HasSubstr(c.error));
}

TEST_F(NewManifestTest, AWordThatIsAValueOfAnotherColumnIsAGapInItsOwnAlone) {
  std::string rows = "x,flag,y\n";
  for (int i = 0; i < 40; ++i)
    rows += std::to_string(i % 30) + (i % 2 == 0 ? ",yes," : ",no,") + (i % 3 == 0 ? "1\n" : "0\n");
  const std::string text = manifest_text(wanted(rows + "no,yes,1\n", "y"));
  EXPECT_THAT(text, HasSubstr("\nx = { type = \"number\", indicator = true, gaps = [\"\", \"NA\", \"N/A\", \"null\", "
                              "\"?\", \"no\"] }"));
  EXPECT_THAT(text, HasSubstr("these become gaps: no\n"));
  EXPECT_THAT(text, HasSubstr("\nflag = { type = \"category\", deliver = \"ids\" }"));
}

TEST_F(NewManifestTest, AColumnOfNumbersAndManyWordsIsIgnored) {
  std::string rows = "x,z,y\n";
  for (int i = 0; i < 60; ++i)
    rows += (i < 22 ? "w" + std::to_string(i) : std::to_string(i % 7)) + "," + std::to_string(i % 9) + "," +
            std::to_string(i % 2) + "\n";
  EXPECT_THAT(manifest_text(wanted(rows, "y")), HasSubstr("\nx = { type = \"ignore\" }"));
  EXPECT_THAT(manifest_text(wanted(rows, "y")), HasSubstr("# numbers, and many other words such as \"w0\"; repair it"));
}

TEST_F(NewManifestTest, EachPartHasItsShareOfEachClass) {
  EXPECT_THAT(manifest_text(wanted(table(), "left")), HasSubstr("\nsplit_by = \"stratify\" "));
  EXPECT_THAT(manifest_text(wanted(table(), "rent")), Not(HasSubstr("stratify")));
  NewManifest every = wanted(table(), "left");
  every.split = "every";
  EXPECT_THAT(manifest_text(every), Not(HasSubstr("stratify")));
  EXPECT_THAT(manifest_text(wanted(table("20,Bonn,1.01.2025,1,2000,maybe,300\n"), "left")),
              HasSubstr("\n# Class \"maybe\" has 1 row, which is for the training: the evaluation has none of it.\n"));
}

TEST_F(NewManifestTest, TheRarerOfTwoClassesOfWordsIsThePositiveOne) {
  std::string rows = "x,y\n";
  for (int i = 0; i < 40; ++i) rows += std::to_string(i % 9) + (i % 4 == 0 ? ",No\n" : ",Yes\n");
  EXPECT_THAT(manifest_text(wanted(rows, "y")), HasSubstr("\npositive_class = \"No\"  # F1, AUC and threshold are"));
  std::string numbers = "x,y\n";
  for (int i = 0; i < 40; ++i) numbers += std::to_string(i % 9) + (i % 4 == 0 ? ",0\n" : ",1\n");
  EXPECT_THAT(manifest_text(wanted(numbers, "y")), Not(HasSubstr("positive_class")));
}

TEST_F(NewManifestTest, DatesThatTwoFormatsReadAreSaid) {
  std::string rows = "when,y\n";
  for (int i = 0; i < 40; ++i)
    rows += "0" + std::to_string(i % 9 + 1) + "/1" + std::to_string(i % 3) + "/2021," + std::to_string(i % 2) + "\n";
  EXPECT_THAT(manifest_text(wanted(rows, "y")),
              ::testing::AllOf(HasSubstr("formats = [\"%m/%d/%Y\"]"), HasSubstr("; or \"%d/%m/%Y\": other days\n")));
}

TEST_F(NewManifestTest, AHeaderInsideOfATableIsRefused) {
  std::string rows = "x,y\n";
  for (int i = 0; i < 40; ++i) rows += (i == 20 ? "x,y\n" : "") + std::to_string(i % 9) + ",a\n";
  EXPECT_THAT(error_of([&] { manifest_text(wanted(rows, "y")); }),
              HasSubstr(":22:1: this row repeats the names of the columns; remove it; 1 row cannot be read"));
}

TEST_F(NewManifestTest, ATableWithoutAFeatureIsRefused) {
  std::string rows = "key,same,y\n";
  for (int i = 0; i < 40; ++i) rows += std::to_string(100 + i) + ",1," + std::to_string(i % 2) + "\n";
  EXPECT_THAT(
      error_of([&] { manifest_text(wanted(rows, "y")); }),
      HasSubstr("FAILED_PRECONDITION: [B5012] no column besides the label can be a feature: \"key\" (like an id), "
                "\"same\" (constant); give a table with columns"));
}

TEST_F(NewManifestTest, ALabelWithDecimalCommasIsRefused) {
  EXPECT_THAT(error_of([&] { manifest_text(wanted("x;rent\n1;3,5\n2;4,5\n3;3,5\n", "rent")); }),
              HasSubstr("--label: \"rent\": its cells are numbers with a comma, such as \"3,5\" ("));
}

TEST_F(NewManifestTest, TheFileIsMadeOnceAndNotIfThereIsAnError) {
  std::ostringstream out, err;
  const auto make = [&](const NewManifest& m) {
    return new_manifest(m, posix_file_system(), folder_.path(), out, err);
  };
  EXPECT_EQ(make(wanted(table(), "lft")), 2);
  EXPECT_THAT(err.str(), HasSubstr("error[B3041]: --label: "));
  EXPECT_EQ(make(wanted(table(), "left")), 0);
  EXPECT_EQ(out.str(), "made flats.toml\n\n  belay check flats.toml\n  belay run flats.toml\n");
  EXPECT_THAT(error_of([&] { make(wanted(table(), "left")); }),
              HasSubstr("belay new manifest: \"flats.toml\" is there already; choose another name or remove it"));
  NewManifest capitals = wanted(table(), "left");
  capitals.name = "Flats-2";
  EXPECT_EQ(make(capitals), 0);
  NewManifest bad = wanted(table(), "left");
  bad.name = "../flats";
  EXPECT_THAT(error_of([&] { make(bad); }), HasSubstr("cannot be a name"));
}

}  // namespace
}  // namespace belay::runtime
