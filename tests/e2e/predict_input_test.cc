// SPDX-License-Identifier: Apache-2.0
// [input.predict] through the real program: looked at before a training, and ids that come along.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/e2e/run_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class PredictInput : public RunTest {
 protected:
  // Rents of flats: the sum of both features. `predict` is the rest of [input.predict], and the tables after it.
  std::string flats(const std::string& predict) const {
    write_file(temp / "flats.csv", "area,rooms,rent\n1,2,3\n4,5,9\n2,2,4\n3,1,4\n");
    write_file(temp / "new.csv", "flat,area,rooms\n007,1,1\n\"a, b\",2,2\n");
    write_file(temp / "wide.csv", "area,rooms,floor\n1,1,2\n");
    const std::string path = temp / "train.toml";
    write_file(
        path,
        "[run]\ndir = \"run\"\nmax_steps = 3\nthreads = 1\n[input.train]\nplugin = \"csv\"\npath = "
        "\"flats.csv\"\nlabel_type = \"float\"\nbatch_size = 2\n[model]\nplugin = \"linear\"\n[optimizer]\nname = "
        "\"sgd\"\nlearning_rate = 0.01\n[input.predict]\n" +
            predict);
    return path;
  }
  // That check and run name it with status `status`, and that nothing was made.
  void expect_found(const std::string& manifest, const std::vector<std::string>& said, int status = 2) const {
    for (const char* command : {"check", "run"}) {
      const ProcessResult r = belay({command, manifest});
      EXPECT_EQ(r.status, status) << command << r.err;
      for (const std::string& part : said) EXPECT_THAT(told(r), HasSubstr(part)) << command;
      EXPECT_FALSE(std::filesystem::exists(run_dir())) << command;
    }
  }
};

constexpr const char* kNew = "plugin = \"csv\"\npath = \"new.csv\"\nlabel = \"\"\nid = \"flat\"\nepochs = 1\n";

TEST_F(PredictInput, OneThatFitsIsNoHindrance) {
  const std::string manifest = flats(kNew);
  const ProcessResult checked = belay({"check", manifest});
  ASSERT_EQ(checked.status, 0) << checked.err;
  EXPECT_THAT(checked.out, HasSubstr("input.predict  csv\n"));
  EXPECT_EQ(belay({"run", manifest}).status, 0);
}

TEST_F(PredictInput, AnUnknownPluginOrOptionOfItIsFoundBeforeTheTraining) {
  expect_found(flats("plugin = \"cvs\"\n"), {"train.toml:16:10: error[B2025]: ", "did you mean \"csv\"?"}, 3);
  expect_found(flats("plugin = \"csv\"\npath = \"new.csv\"\nlabl = \"\"\n"), {"labl", "did you mean \"label\"?"});
  expect_found(flats("plugin = \"csv\"\npath = \"new.csv\"\nlabel = \"rennt\"\nid = \"flat\"\nepochs = 1\n"),
               {"label = \"rennt\"\n          ^~~~~~~", "has no column \"rennt\""});
}

TEST_F(PredictInput, OneOfAnotherWidthIsFoundBeforeTheTraining) {
  expect_found(flats("plugin = \"csv\"\npath = \"wide.csv\"\nlabel = \"\"\nepochs = 1\n"),
               {"train.toml:17:8: error[B3043]: ", "wide.csv' has floor, which the training did not have",
                "extra = \"ignore\" leaves it out"});
}

TEST_F(PredictInput, OneWithoutAFeatureOfTheTrainingIsFoundBeforeIt) {
  expect_found(flats("plugin = \"digits\"\nepochs = 1\n"),
               {"[input.predict] has no feature \"features\", which the training had", "it has: image"});
}

TEST_F(PredictInput, OneThatNeverEndsIsFoundBeforeTheTrainingAndByPredict) {
  const std::string manifest = flats("plugin = \"csv\"\npath = \"new.csv\"\nlabel = \"\"\nid = \"flat\"\n");
  const std::vector<std::string> said = {"train.toml:16:10: error[B5025]: [input.predict] never ends",
                                         "add epochs = 1"};
  expect_found(manifest, said);
  const ProcessResult r = belay({"predict", manifest});
  EXPECT_EQ(r.status, 2) << r.err;
  EXPECT_THAT(told(r), HasSubstr(said[0]));
}

TEST_F(PredictInput, AFileThatIsNotThereYetIsAWarning) {
  const std::string manifest = flats("plugin = \"csv\"\npath = \"later.csv\"\nlabel = \"\"\nepochs = 1\n");
  for (const char* command : {"check", "run"}) {
    const ProcessResult r = belay({command, manifest});
    EXPECT_EQ(r.status, 0) << command << r.err;
    EXPECT_THAT(told(r), HasSubstr("[input.predict] is not compared with [input.train]: there is no file "
                                   "'DIR/later.csv' yet"))
        << command;
  }
  EXPECT_EQ(belay({"predict", manifest}).status, 2);
}

// A training's checkpoint does not depend on it.
TEST_F(PredictInput, ItChangesNoBitOfTheTraining) {
  ASSERT_EQ(belay({"run", flats(kNew)}).status, 0);
  const std::string with = weights(run_dir(), 3);
  std::filesystem::remove_all(run_dir());
  const std::string manifest = flats(kNew);
  const std::string text = contents(manifest);
  write_file(manifest, text.substr(0, text.find("[input.predict]")));
  ASSERT_EQ(belay({"run", manifest}).status, 0);
  EXPECT_EQ(weights(run_dir(), 3), with);
  ASSERT_FALSE(with.empty());
}

TEST_F(PredictInput, IdsOfACsvFileAreInEachLineAndInNoArray) {
  const std::string manifest = flats(kNew);
  ASSERT_EQ(belay({"run", manifest}).status, 0);
  const ProcessResult lines = belay({"predict", manifest});
  ASSERT_EQ(lines.status, 0) << lines.err;
  std::istringstream rows(lines.out);
  std::vector<std::string> ids;
  for (std::string row; std::getline(rows, row);) ids.push_back(nlohmann::json::parse(row)["id"]);
  EXPECT_THAT(ids, ElementsAre("007", "a, b"));
  EXPECT_THAT(lines.out, Not(HasSubstr("index")));

  const ProcessResult csv = belay({"predict", manifest, "--format", "csv"});
  EXPECT_THAT(csv.out, HasSubstr("id,value_0\n007,"));
  EXPECT_THAT(csv.out, HasSubstr("\n\"a, b\","));

  const ProcessResult npy = belay({"predict", manifest, "--keys", "value", "--format", "npy"});
  ASSERT_EQ(npy.status, 0) << npy.err;
  EXPECT_THAT(npy.out, HasSubstr("'shape': (2, 1)"));
  EXPECT_THAT(npy.out, Not(HasSubstr("007")));
}

TEST_F(PredictInput, DataThatIsNamedAsTheLibraryIsToldItsOption) {
  const std::string manifest = flats(kNew);
  const auto said = [&](const std::string& set) { return belay({"check", manifest, "--set", set}).err; };
  EXPECT_THAT(
      said("input.train.file=\"flats.csv\""),
      HasSubstr("\"file\" is the library that the plugin is in; what input \"csv\" reads is given by \"path\""));
  EXPECT_THAT(said("input.train={plugin = \"text\", file = \"flats.csv\"}"),
              HasSubstr("what input \"text\" reads is given by \"files\""));
  EXPECT_THAT(said("input.train={file = \"flats.csv\"}"), HasSubstr("name it by plugin = \"...\""));
}

}  // namespace
}  // namespace belay::runtime::testing
