// SPDX-License-Identifier: Apache-2.0
// Bad data: a clear error, the exit status of when it was found, and nothing half-written.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "plugins/inputs/idx/idx_test_files.h"
#include "tests/e2e/run_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

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
  // A classifier on a pair of IDX files of 64 images of 16 x 16.
  std::string idx(const std::string& images, const std::string& labels) {
    write_file(temp / "images.gz", images);
    write_file(temp / "labels.gz", labels);
    const std::string path = temp / "train.toml";
    write_file(path,
               "[run]\ndir = \"run\"\nmax_steps = 50\nthreads = 1\n[input.train]\nplugin = \"idx\"\nimages = "
               "\"images.gz\"\nlabels = \"labels.gz\"\n[model]\nplugin = \"mlp\"\n[optimizer]\nname = "
               "\"sgd\"\nlearning_rate = 0.01\n");
    return path;
  }
  bool run_directory_exists() const { return std::filesystem::exists(run_dir()); }
  // Training had begun: its first checkpoint is whole, and nothing half-written lies about.
  const std::vector<std::string> begun_ = {"attempts",      "checkpoint",         kEventFile,
                                           "lock",          "manifest-0001.toml", "manifest.toml",
                                           "metrics.jsonl", "model.ckpt-0",       "schema.json"};
  const std::vector<std::string> checkpoint_ = {"index", "manifest.toml", "model.safetensors", "schema.json", "state"};
};

TEST_F(BadInput, AMissingManifestIsNamed) {
  const ProcessResult r = belay({"run", temp / "none.toml"});
  EXPECT_EQ(r.status, 2);
  EXPECT_NE(
      r.err.find(
          "none.toml: error[B1001]: cannot read the manifest: No such file or directory\n  help: give the path of a "
          "TOML file: belay run train.toml\n"),
      std::string::npos)
      << r.err;
}

TEST_F(BadInput, EachMistakeInAManifestIsShownWhereItStands) {
  const struct {
    const char* input;
    const char* more;
    const char* expected;
  } cases[] = {
      {"batch_size = \n", "",
       "DIR/train.toml:7:14: error[B1007]: a value is wanted here\n"
       "  batch_size = \n               ^\n"},
      {"batch_size = 4\nbatch_size = 5\n", "",
       "DIR/train.toml:8:1: error[B1009]: \"batch_size\" is given twice\n"
       "  batch_size = 5\n  ^~~~~~~~~~\n  help: keep one of them\n"},
      {"bach_size = 3\n", "",
       "DIR/train.toml:7:1: error[B2030]: \"bach_size\" is not an option of input \"numbers\"\n"
       "  bach_size = 3\n  ^~~~~~~~~\n"
       "  help: did you mean \"batch_size\"? options: examples, batch_size, epochs, shuffle, fail_at_batch, fail_with, "
       "once, hang_at_batch, nan_at_batch, delay_secs\n"},
      {"", "[checkpoint]\nsave_stepz = 3\n",
       "DIR/train.toml:14:1: error[B1003]: unknown key \"save_stepz\" in [checkpoint]\n"
       "  save_stepz = 3\n  ^~~~~~~~~~\n  help: did you mean \"save_steps\"?\n"},
      {"", "[checkpiont]\nsave_steps = 3\n",
       "DIR/train.toml:13:2: error[B1004]: unknown section [checkpiont]\n"
       "  [checkpiont]\n   ^~~~~~~~~~\n  help: did you mean [checkpoint]?\n"},
      {"batch_size = \"3\"\n", "",
       "DIR/train.toml:7:14: error[B2032]: \"batch_size\" must be an integer, not a string\n"
       "  batch_size = \"3\"\n               ^~~\n  help: write it without quotes: batch_size = 3\n"},
      {"", "[checkpoint]\nmax_to_keep = 3.5\n",
       "DIR/train.toml:14:15: error[B1012]: checkpoint.max_to_keep must be an integer, found 3.5\n"
       "  max_to_keep = 3.5\n                ^~~\n"},
      {"batch_size = 0\n", "",
       "DIR/train.toml:7:14: error[B2033]: \"batch_size\" is 0, must be at least 1\n"
       "  batch_size = 0\n               ^\n  help: batch_size: examples in a batch\n"},
      {"fail_with = \"odd\"\n", "",
       "DIR/train.toml:7:13: error[B2034]: \"fail_with\" is \"odd\", must be one of: aborted, data_loss\n"
       "  fail_with = \"odd\"\n              ^~~~~\n"},
      {"", "[checkpoint]\nsave_secs = -3\n",
       "DIR/train.toml:14:13: error[B1013]: checkpoint.save_secs must be from 0 to 1000000000, found -3\n"
       "  save_secs = -3\n              ^~\n"},
  };
  for (const auto& c : cases) {
    const ProcessResult r = belay({"run", regression(c.input, c.more)});
    EXPECT_EQ(r.status, 2) << r.err;
    EXPECT_EQ(told(r), c.expected);
    EXPECT_EQ(r.out, "");
    EXPECT_FALSE(run_directory_exists());
  }
}

TEST_F(BadInput, AllMistakesAreToldAtOnceInTheirOrder) {
  const ProcessResult r =
      belay({"run", regression("batch_size = 0\nshuffel = true\n", "[checkpoint]\nsave_secs = -3\n")});
  EXPECT_EQ(r.status, 2) << r.err;
  EXPECT_THAT(lines_with(told(r), "error["),
              ::testing::ElementsAre(
                  "DIR/train.toml:7:14: error[B2033]: \"batch_size\" is 0, must be at least 1",
                  "DIR/train.toml:8:1: error[B2030]: \"shuffel\" is not an option of input \"numbers\"",
                  "DIR/train.toml:16:13: error[B1013]: checkpoint.save_secs must be from 0 to 1000000000, found -3"));
  EXPECT_FALSE(run_directory_exists());
}

TEST_F(BadInput, AWrongSetIsShownWithItsOwnText) {
  const ProcessResult r = belay({"run", regression(), "--set", "run.max_stepz=4"});
  EXPECT_EQ(r.status, 2) << r.err;
  EXPECT_EQ(
      told(r),
      "--set run.max_stepz: error[B1003]: unknown key \"max_stepz\" in [run]\n  run.max_stepz=4\n      ^~~~~~~~~\n"
      "  help: did you mean \"max_steps\"?\n");
  EXPECT_FALSE(run_directory_exists());
}

TEST_F(BadInput, AnUnknownPluginIsToldWithTheNearestAndWhereItWasLookedFor) {
  const ProcessResult r = belay({"run", regression(), "--set", "model.plugin=lineer"}, {"HOME=" + temp.path()});
  EXPECT_EQ(r.status, 3) << r.err;
  EXPECT_THAT(told(r),
              ::testing::StartsWith("--set model.plugin: error[B2025]: not_found: model \"lineer\" is not found in " +
                                    tested_build() + "/plugins, " BELAY_BINARY_DIR "/tests/e2e/plugins, "));
  EXPECT_THAT(told(r), ::testing::EndsWith("  model.plugin=lineer\n               ^~~~~~\n  help: did you mean "
                                           "\"linear\"? set [plugins] path, BELAY_PLUGIN_PATH or file = \"...\"; "
                                           "`belay plugins` lists what exists\n"));
  EXPECT_FALSE(run_directory_exists());
}

const std::string kRunDirectoryHelp =
    "error   help: set dir in [run], or --set run.dir=DIR, to a folder that this user can write\n";

TEST_F(BadInput, ARunDirectoryThatCannotBeMadeIsFoundBeforeTraining) {
  write_file(temp / "file", "no directory");
  const ProcessResult below = belay({"run", regression(), "--set", "run.dir=" + temp / "file/run"});
  EXPECT_EQ(below.status, 2) << below.err;
  EXPECT_EQ(told(below),
            "error[B5020]: the run directory cannot be used: cannot make directory 'DIR/file/run': Not a directory\n" +
                kRunDirectoryHelp);
  const ProcessResult itself = belay({"run", regression(), "--set", "run.dir=" + temp / "file"});
  EXPECT_EQ(itself.status, 2) << itself.err;
  EXPECT_EQ(told(itself),
            "error[B5020]: the run directory cannot be used: cannot open directory 'DIR/file': Not a directory\n" +
                kRunDirectoryHelp);
  const ProcessResult checked = belay({"check", regression(), "--set", "run.dir=" + temp / "file"});
  EXPECT_EQ(checked.status, 2) << checked.err;
  EXPECT_THAT(
      told(checked),
      ::testing::AllOf(
          ::testing::StartsWith("--set run.dir: error[B5020]: the run directory cannot be used: cannot open directory "
                                "'DIR/file': Not a directory\n  run.dir=DIR/file\n          ^"),
          ::testing::EndsWith(
              "\n  help: take a folder that this user can write, or the name of one that is to be made\n")));
  EXPECT_EQ(contents(temp / "file"), "no directory");
  EXPECT_EQ(listing(temp.path()), (std::vector<std::string>{"file", "train.toml"}));
}

TEST_F(BadInput, ARunDirectoryWithoutWritePermissionIsFoundBeforeTraining) {
  // Mode bits do not bind root; the attribute does, on the file systems that have it.
  std::filesystem::create_directory(run_dir());
  const bool root = ::geteuid() == 0;
  if (root && std::system(("chattr +i " + run_dir() + " 2>/dev/null").c_str()) != 0)
    GTEST_SKIP() << "this is root, and " << run_dir() << " cannot be made immutable (chattr +i)";
  if (!root) {
    ASSERT_EQ(::chmod(run_dir().c_str(), 0555), 0);
  }
  const ProcessResult r = belay({"run", regression()});
  if (root) {
    EXPECT_EQ(std::system(("chattr -i " + run_dir()).c_str()), 0);
  }
  EXPECT_EQ(r.status, 2) << r.err;
  EXPECT_EQ(told(r), std::string("error[B5020]: the run directory cannot be used: cannot lock 'DIR/run/lock': ") +
                         (root ? "Operation not permitted\n" : "Permission denied\n") + kRunDirectoryHelp);
  EXPECT_EQ(listing(run_dir()), std::vector<std::string>());
}

TEST_F(BadInput, AMissingDataFileIsFoundBeforeAnythingIsMade) {
  const std::string manifest = csv("a,b,y\n1,2,3\n");
  std::filesystem::remove(temp / "rows.csv");
  const ProcessResult r = belay({"run", manifest});
  EXPECT_EQ(r.status, 2);
  EXPECT_EQ(told(r),
            "DIR/train.toml:7:8: error[B3046]: input \"train\" of \"csv\" (csv.so 1.0.0, train.toml:5) in spec: path: "
            "there is no file "
            "'DIR/rows.csv'\n  path = \"rows.csv\"\n         ^~~~~~~~~~\n");
  EXPECT_FALSE(run_directory_exists());
}

TEST_F(BadInput, AnEmptyInputIsFoundBeforeAnythingIsMade) {
  const ProcessResult r = belay({"run", csv("a,b,y\n")});
  EXPECT_EQ(r.status, 2);
  EXPECT_EQ(told(r),
            "DIR/train.toml:7:8: error[B3021]: input \"train\" of \"csv\" (csv.so 1.0.0, train.toml:5) in spec: path: "
            "'DIR/rows.csv' holds a header and no rows; if it has no header, set header = false\n"
            "  path = \"rows.csv\"\n         ^~~~~~~~~~\n");
  EXPECT_FALSE(run_directory_exists());
}

TEST_F(BadInput, ARowWithAWrongColumnCountNamesItsLine) {
  const ProcessResult r = belay({"run", csv("a,b,y\n1,2,3\n1,2,3\n1,2,3\n1,2\n")});
  EXPECT_EQ(r.status, 2);
  EXPECT_EQ(told(r),
            "DIR/rows.csv:5:4: error[B3036]: 2 columns, expected 3; a field that holds ',' must be in double quotes\n"
            "  1,2\n     ^\n");
}

TEST_F(BadInput, BadCellsAreShownWithTheirLinesAllAtOnce) {
  const std::string fix = ", not a number; repair the row, or leave the column out of 'features'\n";
  const std::string manifest = csv("a,b,y\n1,2,3\n1,x y,3\nz,2,3\n");
  for (const char* command : {"check", "run"}) {
    const ProcessResult r = belay({command, manifest});
    EXPECT_EQ(r.status, 2);
    EXPECT_EQ(told(r), "DIR/rows.csv:3:3: error[B3038]: column \"b\" is \"x y\"" + fix +
                           "  1,x y,3\n    ^\n"
                           "DIR/rows.csv:4:1: error[B3038]: column \"a\" is \"z\"" +
                           fix + "  z,2,3\n  ^\n");
    EXPECT_FALSE(run_directory_exists());
  }
  std::istringstream lines(belay({"check", manifest, "--diagnostics=json"}).err);
  for (const int number : {3, 4}) {
    std::string line;
    ASSERT_TRUE(std::getline(lines, line));
    const nlohmann::json json = nlohmann::json::parse(line);
    EXPECT_EQ(json["file"], temp / "rows.csv");
    EXPECT_EQ(json["line"], number);
    EXPECT_EQ(json["length"], 1);
    EXPECT_EQ(json["code"], "B3038");
  }
}

TEST_F(BadInput, T_127_OfManyBadCellsOfAColumnTheFirstIsShownWithTheirNumber) {
  std::string rows = "a,b,y\n";
  for (int i = 0; i < 50; ++i) rows += "1,2,0\n1,bad,0\n";
  const std::string said = told(belay({"check", csv(rows)}));
  EXPECT_THAT(lines_with(said, ": error[B3038]: "), ::testing::SizeIs(1));
  EXPECT_TRUE(
      said.ends_with("; 50 rows are so\n  1,bad,0\n    ^~~\n  help: the columns that hold numbers alone: "
                     "features = [\"a\"]\n"))
      << said;
}

TEST_F(BadInput, T_127_AHeaderThatDoesNotFitIsShownOnce) {
  const std::string said = told(belay({"check", csv("a,b\n1,2,0\n1,2,0\n")}));
  EXPECT_THAT(lines_with(said, ": error[B3040]: "), ::testing::SizeIs(1)) << said;
  EXPECT_THAT(said, HasSubstr("header = false, skip_lines = 1"));
}

TEST_F(BadInput, ABadCellThatAnEvaluationReadsIsShownBeforeTheTraining) {
  write_file(temp / "held.csv", "a,b,y\n1,no,0\n");
  const ProcessResult r =
      belay({"run", csv("a,b,y\n1,2,0\n1,2,1\n", "[input.eval]\nplugin = \"csv\"\npath = \"held.csv\"\nepochs = 1\n")});
  EXPECT_EQ(r.status, 2);
  EXPECT_FALSE(run_directory_exists());
  const std::string said = told(r);
  EXPECT_NE(
      said.find("DIR/held.csv:2:3: error[B3038]: column \"b\" is \"no\", not a number; repair the row, or leave the "
                "column out of 'features'\n  1,no,0\n    ^~\n"),
      std::string::npos)
      << said;
}

TEST_F(BadInput, ATextThatIsNoUtf8IsShownWhereItEnds) {
  write_file(temp / "book.txt", "one\ntwo \xff\n");
  const std::string path = temp / "text.toml";
  write_file(path,
             "[run]\ndir = \"run\"\nmax_steps = 50\n[input.train]\nplugin = \"text\"\nfiles = [\"book.txt\"]\n"
             "[model]\nplugin = \"lstm\"\n[optimizer]\nname = \"sgd\"\nlearning_rate = 0.01\n");
  const ProcessResult r = belay({"check", path});
  EXPECT_EQ(r.status, 2);
  EXPECT_EQ(
      told(r),
      "DIR/book.txt:2:5: error[B3032]: this is no UTF-8: byte 8 of the file (0xff) begins no character; convert it "
      "(iconv -t UTF-8), or set units = \"bytes\"\n  two \\xff\n      ^~~~\n");
}

TEST_F(BadInput, T_120_AFileOfAnotherKindIsNamedByEachInput) {
  const std::string pickle("\x80\x04\x95\x18\x62\0\0\0\0\0\0}pickle", 18);
  const std::string page = "<!DOCTYPE html>\n<html><body>Not found</body></html>\n";
  const std::string pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n";
  const std::pair<const char*, const char*> inputs[] = {
      {"csv", "path = \"data\"\nlabel = \"y\"\n"},
      {"idx", "images = \"data\"\nlabels = \"data\"\n"},
      {"npy", "features = \"data\"\n"},
      {"npy", "features = \"data.npz:x\"\n"},
      {"tfrecord", "files = [\"data\"]\nfeatures = { x = { dtype = \"float32\", shape = [2] } }\n"},
      {"text", "files = [\"data\"]\n"}};
  for (const auto& [plugin, options] : inputs) {
    const std::string path = temp / "train.toml";
    write_file(path, "[run]\ndir = \"run\"\n[input.train]\nplugin = \"" + std::string(plugin) + "\"\n" + options +
                         "[model]\nplugin = \"mlp\"\n[optimizer]\nname = \"sgd\"\nlearning_rate = 0.01\n");
    const auto check = [&](const std::string& bytes) {
      for (const char* file : {"data", "data.npz"}) write_file(temp / file, bytes);
      const ProcessResult r = belay({"check", path});
      EXPECT_NE(r.status, 0) << plugin;
      return r.err;
    };
    EXPECT_THAT(check(pickle), HasSubstr("is a pickle of Python (torch.save, joblib), no ")) << plugin;
    EXPECT_THAT(check(pointer), HasSubstr("is a pointer of Git LFS: git lfs pull fetches the file itself")) << plugin;
    if (std::string_view(plugin) != "text") {  // for which it may be the data
      EXPECT_THAT(check(page), ::testing::ContainsRegex("is a page of HTML, no .*: a download that failed leaves one"));
    }
  }
}

TEST_F(BadInput, ALabelOutsideTheClassesIsFoundInTheFirstBatch) {
  const std::string images = idx_test::images(64, 16, 16);
  std::vector<int> labels(64, 3);
  labels[40] = 11;
  const ProcessResult r = belay({"run", idx(images, idx_test::labels(labels))});
  EXPECT_EQ(r.status, 2);
  EXPECT_EQ(told(r),
            "DIR/train.toml:8:10: error[B3007]: input \"train\" of \"idx\" (idx.so 1.0.0, train.toml:5) in next: "
            "labels: 'DIR/labels.gz' has label "
            "11 in record 40; "
            "with 10 classes labels are 0 to 9\n  labels = \"labels.gz\"\n           ^~~~~~~~~~~\n");
  EXPECT_FALSE(run_directory_exists());
}

TEST_F(BadInput, ALabelForWhichTheModelHasNoClassIsFoundInTheFirstBatch) {
  const std::string manifest = csv("a,b,y\n1,2,0\n1,2,3\n1,2,0\n1,2,7\n");
  for (const std::string command : {"check", "run"}) {
    const ProcessResult r = belay({command, manifest, "--set", "model.classes=3"});
    EXPECT_EQ(r.status, 2) << command;
    EXPECT_THAT(told(r),
                ::testing::EndsWith(
                    "--set model.classes: error[B2045]: model \"linear\" (linear.so 1.0.0, train.toml:9) in build: "
                    "classes: the model has 3, and the input's label has 8; leave 'classes' out to take the "
                    "input's\n  model.classes=3\n                ^\n"));
    EXPECT_FALSE(run_directory_exists()) << command;
  }
  EXPECT_EQ(belay({"check", manifest, "--set", "model.classes=8"}).status, 0);
  const std::string images = idx_test::images(64, 16, 16);
  std::vector<int> labels(64, 3);
  labels[5] = 9;
  const std::string of_idx = idx(images, idx_test::labels(labels));
  write_file(of_idx, replaced(contents(of_idx), "\"mlp\"\n", "\"mlp\"\nclasses = 9\n"));
  const ProcessResult r = belay({"check", of_idx});
  EXPECT_EQ(r.status, 2);
  EXPECT_EQ(told(r),
            "DIR/train.toml:11:11: error[B2045]: model \"mlp\" (mlp.so 1.0.0, train.toml:9) in build: classes: the "
            "model has 9, and the input's label has 10; leave 'classes' out to take the input's\n"
            "  classes = 9\n            ^\n");
}

// The message names the table, and quotes the key below it before the classes that there are.
TEST_F(BadInput, AWeightOfNoClassIsShownAtItsKeyAmongOthers) {
  const auto told_of = [&](const std::string& weights) {
    const std::string manifest = csv("a,b,y\n1,2,no\n1,2,yes\n1,2,no\n1,2,yes\n");
    write_file(manifest,
               replaced(contents(manifest), "plugin = \"linear\"\n", "plugin = \"linear\"\n" + weights + "\n"));
    const ProcessResult r = belay({"check", manifest});
    EXPECT_EQ(r.status, 2) << r.err;
    return told(r);
  };
  EXPECT_THAT(told_of("class_weights = { no = 1.0, yse = 2.0 }"),
              ::testing::EndsWith("\n  class_weights = { no = 1.0, yse = 2.0 }\n                              ^~~\n"));
  EXPECT_THAT(
      told_of("class_weights = { no = 1.0, yes = \"2\" }"),
      ::testing::EndsWith("\n  class_weights = { no = 1.0, yes = \"2\" }\n                                    ^~~\n"));
  EXPECT_THAT(
      told_of("class_weights = { no = 1.0, yes = -2.0 }"),
      ::testing::EndsWith("\n  class_weights = { no = 1.0, yes = -2.0 }\n                                    ^~~~\n"));
  EXPECT_THAT(told_of("class_weights = \"even\""),
              ::testing::EndsWith("\n  class_weights = \"even\"\n                  ^~~~~~\n"));
}

TEST_F(BadInput, AnEntryOfAColumnIsShownAtItselfAmongOthers) {
  const auto told_of = [&](const std::string& entry) {
    const ProcessResult r =
        belay({"check", csv("a,b,y\n1,2,0\n3,4,1\n", "columns = { a = { type = \"ignore\" }, " + entry + " }\n")});
    EXPECT_EQ(r.status, 2) << r.err;
    return told(r);
  };
  EXPECT_THAT(told_of("town = { type = \"number\" }"),
              HasSubstr("DIR/train.toml:9:47: error[B3041]: input \"train\" of \"csv\""));
  EXPECT_THAT(told_of("town = { type = \"number\" }"), HasSubstr("has no column \"town\""));
  EXPECT_THAT(told_of("y = { type = \"number\" }"), HasSubstr("DIR/train.toml:9:44: error[B3042]: "));
  EXPECT_THAT(told_of("b = { typ = \"number\" }"),
              HasSubstr("'columns.b.typ' is unknown (did you mean \"type\"?); a column has type, "));
  // Each row must have a number or a word of its type.
  EXPECT_THAT(told_of("b = { type = \"date\" }"), Not(HasSubstr("numbers alone")));
}

// An array of numpy's has nothing about classes.
TEST_F(BadInput, ALabelBeyondTheClassesOfTheModelAloneIsFoundInAnyRowBeforeTheFirstStep) {
  const auto npy = [&](const std::string& name, const std::string& dtype, const std::string& shape, std::string bytes) {
    std::string head = "{'descr': '" + dtype + "', 'fortran_order': False, 'shape': " + shape + ", }";
    head.resize(117, ' ');
    write_file(temp / name, std::string("\x93NUMPY\1\0\x76\0", 10) + head + "\n" + bytes);
  };
  std::string labels(400, '\0');
  labels[357] = '\x0b';
  npy("x.npy", "<f4", "(400, 1)", std::string(1600, '\0'));
  npy("y.npy", "|u1", "(400,)", labels);
  npy("negative.npy", "|i1", "(400,)", replaced(labels, "\x0b", "\xff"));
  const std::string path = temp / "train.toml";
  write_file(path,
             "[run]\ndir = \"run\"\nmax_steps = 5\n[input.train]\nplugin = \"npy\"\nfeatures = \"x.npy\"\nlabels = "
             "\"y.npy\"\n[model]\nplugin = \"linear\"\n[optimizer]\nname = \"sgd\"\nlearning_rate = 0.1\n");
  for (const char* command : {"check", "run"}) {
    const ProcessResult by_default = belay({command, path});
    EXPECT_EQ(by_default.status, 2);
    EXPECT_THAT(
        told(by_default),
        HasSubstr("DIR/train.toml:9:10: error[B5028]: the model has the classes 0 to 9, and the label \"label\" "
                  "of [input.train] is 11 in row 357 of 'DIR/y.npy'\n  plugin = \"linear\"\n           ^~~~~~~~\n"
                  "  help: write classes = 12\n"));
  }
  const ProcessResult negative = belay({"check", path, "--set", "input.train.labels=\"negative.npy\""});
  EXPECT_EQ(negative.status, 2);
  EXPECT_THAT(told(negative), HasSubstr("is -1 in row 357 of "));
  EXPECT_EQ(belay({"check", path, "--set", "model.classes=12"}).status, 0);
  EXPECT_EQ(belay({"check", path, "--set", "model.task=\"regression\""}).status, 0) << "a number needs no class";
}

TEST_F(BadInput, AnInputThatBreaksLaterLeavesWhatWasWholeBefore) {
  const ProcessResult r = belay({"run", regression("fail_at_batch = 5\nfail_with = \"data_loss\"\n")});
  EXPECT_EQ(r.status, 1);
  EXPECT_THAT(
      lines_with(told(r), "error["),
      ::testing::ElementsAre(
          "error[B2046]: training ended with an error: node 'input/train_batch' (QueueDequeue): input \"train\" of "
          "\"numbers\" (numbers.so 1.0.0, train.toml:5) in next: record 5 is damaged"));
  EXPECT_EQ(listing(run_dir()), begun_);
  EXPECT_EQ(listing(run_dir() + "/model.ckpt-0"), checkpoint_);
}

TEST_F(BadInput, ATruncatedGzFileIsFoundBeforeTheTraining) {
  // Bytes that do not compress, so that a cut is a cut of the content.
  std::string images = idx_test::header(8, {64, 16, 16});
  std::uint32_t random = 1;
  for (int i = 0; i < 64 * 16 * 16; ++i)
    images.push_back(static_cast<char>((random = random * 1664525 + 1013904223) >> 24));
  const std::string labels = idx_test::gzipped(idx_test::labels(std::vector<int>(64, 3)));
  const std::string whole = idx_test::gzipped(images);
  ASSERT_EQ(belay({"run", idx(whole, labels)}).status, 0);
  const struct {
    std::size_t kept;
    const char* expected;
  } cases[] = {
      {whole.size() / 2,
       "in next: images: 'DIR/images.gz' is damaged after byte 8197 of its content: it was cut short"},
      // The content is there, its checksum is not.
      {whole.size() - 1,
       "in next: images: 'DIR/images.gz' is damaged after byte 16400 of its content: it was cut short"},
      {20, "in spec: images: 'DIR/images.gz' is damaged after byte 5 of its content: it was cut short"},
  };
  for (const auto& c : cases) {
    std::filesystem::remove_all(run_dir());
    const ProcessResult r = belay({"run", idx(whole.substr(0, c.kept), labels)});
    EXPECT_EQ(r.status, 2) << r.err;
    EXPECT_EQ(told(r), "DIR/train.toml:7:10: error[B3023]: input \"train\" of \"idx\" (idx.so 1.0.0, train.toml:5) " +
                           std::string(c.expected) +
                           "; fetch it again\n  images = \"images.gz\"\n           ^~~~~~~~~~~\n");
    EXPECT_FALSE(run_directory_exists());
  }
}

// Each command refuses it before it does anything, with a line for other programs.
TEST_F(BadInput, DamagedDataAreAProblemOfTheManifestInEachCommand) {
  const std::string rows = "a,b,y\n1,2,0\n1,3,1\n2,2,0\n", manifest = csv(rows, "label_type = \"float\"\n");
  std::string packed = idx_test::gzipped(rows);
  packed.resize(packed.size() - 6);
  write_file(temp / "cut.gz", packed);
  write_file(temp / "cut.npy", std::string("\x93NUMPY\1\0\x76\0{'descr': '<f4'", 24));
  write_file(temp / "cut.npz", std::string("PK\3\4\24\0\0\0", 8));
  ASSERT_EQ(belay({"run", manifest}).status, 0);
  const auto expect_problem = [&](const std::vector<std::string>& arguments, const std::string& file) {
    const ProcessResult r = belay(arguments);
    EXPECT_EQ(r.status, 2) << r.err;
    bool found = false;
    std::istringstream lines(r.err);
    for (std::string line; std::getline(lines, line);) {
      const nlohmann::json json = nlohmann::json::parse(line, nullptr, false);
      if (!json.is_object() || !json.contains("line")) continue;
      found = found || json["message"].get<std::string>().find(file) != std::string::npos;
    }
    EXPECT_TRUE(found) << r.err;
  };
  const std::string cut = temp / "cut.gz";
  expect_problem({"check", manifest, "--diagnostics=json", "--set", "input.train.path=" + cut}, "cut.gz");
  for (const char* command : {"predict", "evaluate"})
    expect_problem({command, manifest, "--diagnostics=json", "--set", "input.eval.plugin=csv", "--set",
                    "input.predict.plugin=csv", "--set", "input.eval.epochs=1", "--set", "input.predict.epochs=1",
                    "--set", "input.eval.path=" + cut, "--set", "input.predict.path=" + cut},
                   "cut.gz");
  for (const char* file : {"cut.npy", "cut.npz:x"}) {
    const std::string path = temp / "npy.toml";
    write_file(path, "[run]\ndir = \"other\"\n[input.train]\nplugin = \"npy\"\nfeatures = \"" + std::string(file) +
                         "\"\n[model]\nplugin = \"linear\"\n[optimizer]\nname = \"sgd\"\nlearning_rate = 0.01\n");
    expect_problem({"check", path, "--diagnostics=json"}, std::string(file).substr(0, 7));
  }
}

// It is read while predictions are written.
TEST_F(BadInput, DataThatBreakOffInAPredictionAreStatus2) {
  const std::string labels = idx_test::gzipped(idx_test::labels(std::vector<int>(64, 3)));
  std::string images = idx_test::header(8, {64, 16, 16});
  std::uint32_t random = 1;
  for (int i = 0; i < 64 * 16 * 16; ++i)
    images.push_back(static_cast<char>((random = random * 1664525 + 1013904223) >> 24));
  const std::string whole = idx_test::gzipped(images), manifest = idx(whole, labels);
  ASSERT_EQ(belay({"run", manifest}).status, 0);
  write_file(temp / "new.gz", whole.substr(0, whole.size() / 2));
  const ProcessResult r = belay({"predict", manifest, "--set", "input.predict.plugin=idx", "--set",
                                 "input.predict.epochs=1", "--set", "input.predict.images=" + (temp / "new.gz")});
  EXPECT_EQ(r.status, 2);
  EXPECT_THAT(told(r), HasSubstr("images: 'DIR/new.gz' is damaged after byte "));
  EXPECT_THAT(told(r), HasSubstr("it was cut short; fetch it again"));
}

TEST_F(BadInput, ALabelOfAnArrayThatIsNoClassIsFoundByCheck) {
  const auto npy = [&](const std::string& name, const std::string& dtype, const std::string& shape, std::string bytes) {
    std::string head = "{'descr': '" + dtype + "', 'fortran_order': False, 'shape': " + shape + ", }";
    head.resize(117, ' ');
    write_file(temp / name, std::string("\x93NUMPY\1\0\x76\0", 10) + head + "\n" + bytes);
  };
  std::string labels(100, '\1');
  labels[70] = 9;
  npy("x.npy", "<f4", "(100, 1)", std::string(400, '\0'));
  npy("y.npy", "|u1", "(100,)", labels);
  const std::string path = temp / "npy.toml";
  write_file(path,
             "[run]\ndir = \"run\"\nmax_steps = 5\n[input.train]\nplugin = \"npy\"\nfeatures = \"x.npy\"\nlabels = "
             "\"y.npy\"\nclasses = 3\n[model]\nplugin = \"linear\"\n[optimizer]\nname = \"sgd\"\nlearning_rate = "
             "0.1\n");
  const ProcessResult r = belay({"check", path});
  EXPECT_EQ(r.status, 2);
  EXPECT_THAT(told(r), HasSubstr("npy.toml:7:10: error[B3007]: "));
  EXPECT_THAT(told(r), HasSubstr("labels: 'DIR/y.npy' has label 9 in row 70; with 3 classes labels are 0 to 2"));
}

}  // namespace
}  // namespace belay::runtime::testing
