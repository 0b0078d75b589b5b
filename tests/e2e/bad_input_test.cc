// Bad data: a clear error, the exit status of when it was found, and nothing half-written.
#include <filesystem>

#include "tests/e2e/run_fixture.h"

namespace belay::runtime::testing {
namespace {

class BadInput : public RunTest {
 protected:
  // A regression on `rows`, a CSV file of two features and a label.
  std::string csv(const std::string& rows, const std::string& more = "") {
    write_file(temp / "rows.csv", rows);
    const std::string path = temp / "train.toml";
    write_file(path,
               "[run]\ndir = \"run\"\nmax_steps = 50\nthreads = 1\n[input.train]\nplugin = \"csv\"\npath = "
               "\"rows.csv\"\nbatch_size = 2\n" +
                   more + "[model]\nplugin = \"linear\"\n[optimizer]\nname = \"sgd\"\nlearning_rate = 0.01\n");
    return path;
  }
  // stderr from the first "error" on, with DIR for the test's folder.
  std::string said(const ProcessResult& r) const {
    std::string text = r.err;
    const std::string folder = std::filesystem::path(temp / "x").parent_path().string();
    for (std::size_t at; (at = text.find(folder)) != std::string::npos;) text.replace(at, folder.size(), "DIR");
    return text.substr(std::min(text.size(), text.find("error ")));
  }
  bool run_directory_exists() const { return std::filesystem::exists(run_dir()); }
};

TEST_F(BadInput, AMissingManifestIsNamed) {
  const ProcessResult r = belay({"run", temp / "none.toml"});
  EXPECT_EQ(r.status, 2);
  EXPECT_NE(
      r.err.find("none.toml: error: cannot read the manifest: No such file or directory\n  help: give the path of a "
                 "TOML file: belay run train.toml\n"),
      std::string::npos)
      << r.err;
}

TEST_F(BadInput, AMissingDataFileIsFoundBeforeAnythingIsMade) {
  const std::string manifest = csv("a,b,y\n1,2,3\n");
  std::filesystem::remove(temp / "rows.csv");
  const ProcessResult r = belay({"run", manifest});
  EXPECT_EQ(r.status, 2);
  EXPECT_EQ(said(r),
            "error input \"train\" of \"csv\" (csv.so 1.0.0) in spec: path: there is no file 'DIR/rows.csv'\n");
  EXPECT_FALSE(run_directory_exists());
}

TEST_F(BadInput, AnEmptyInputIsFoundBeforeAnythingIsMade) {
  const ProcessResult r = belay({"run", csv("a,b,y\n")});
  EXPECT_EQ(r.status, 2);
  EXPECT_EQ(
      said(r),
      "error input \"train\" of \"csv\" (csv.so 1.0.0) in spec: path: 'DIR/rows.csv' holds a header and no rows; if "
      "it has no header, set header = false\n");
  EXPECT_FALSE(run_directory_exists());
}

TEST_F(BadInput, ARowWithAWrongColumnCountNamesItsLine) {
  const ProcessResult r = belay({"run", csv("a,b,y\n1,2,3\n1,2,3\n1,2,3\n1,2\n")});
  EXPECT_EQ(r.status, 1);
  EXPECT_EQ(
      said(r),
      "error input \"train\" of \"csv\" (csv.so 1.0.0) in next: DIR/rows.csv:5: 2 columns, expected 3; a field that "
      "holds ',' must stand in double quotes\n");
}

TEST_F(BadInput, ALabelOutsideTheClassesIsFoundWhileTraining) {
  const ProcessResult r = belay({"run", csv("a,b,y\n1,2,0\n1,2,1\n1,2,11\n1,2,1\n")});
  EXPECT_EQ(r.status, 1);
  EXPECT_NE(r.err.find("11"), std::string::npos) << r.err;
}

}  // namespace
}  // namespace belay::runtime::testing
