// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/evaluation/metrics_line.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "runtime/estimator/host/run_host.h"
#include "tests/monitored/monitored_fixture.h"
#include "tests/platform/temp_dir.h"

namespace belay::runtime::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class MetricsLine : public MonitoredTest {
 protected:
  MetricsLine() {
    run.emplace(Platform{clock, *log, posix_file_system()}, control, RunHostOptions{.dir = temp / "run", .threads = 1});
    run->take_directory();
    run->keep_directory();
  }
  void append(std::int64_t step) {
    EvalResult result;
    result.global_step = step;
    result.metrics = {{"loss", 0.5}};
    append_metrics_line(*run, "eval", result);
  }
  static std::string text_of(const std::string& path) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  int warnings() const {
    int n = 0;
    for (std::size_t at = 0; (at = log_text.find("lacks the evaluation of step", at)) != log_text.npos; ++at) ++n;
    return n;
  }

  TempDir temp;
  RunControl control;
  std::optional<RunHost> run;
  const std::string path = temp / "run/metrics.jsonl";
};

TEST_F(MetricsLine, AConfusionMatrixHasTheNamesOfItsClasses) {
  std::ofstream(path) << "{\"step\":1}\n";
  EvalResult result;
  result.global_step = 2;
  result.matrices = {{"confusion_matrix", Tensor({2, 2}, {5.0, 1.0, 0.0, 3.0})}};
  result.class_names = {"no", "\"yes\""};
  append_metrics_line(*run, "eval", result);
  EXPECT_THAT(text_of(path), HasSubstr(",\"eval/confusion_matrix\":[[5,1],[0,3]],"
                                       "\"eval/confusion_matrix.classes\":[\"no\",\"\\\"yes\\\"\"]}\n"));
}

TEST_F(MetricsLine, IsAddedToAFileThatIsThereAndMakesNone) {
  append(1);
  EXPECT_FALSE(std::filesystem::exists(path));
  std::ofstream(path) << "{\"step\":1}\n";
  append(2);
  EXPECT_THAT(text_of(path), StartsWith("{\"step\":1}\n{\"step\":2,\"attempt\":1,\"time\":"));
  EXPECT_THAT(text_of(path), HasSubstr(",\"event\":\"evaluation\",\"eval/loss\":0.5}\n"));
  EXPECT_EQ(warnings(), 0);
}

TEST_F(MetricsLine, T_161_OneThatCannotBeWrittenIsAWarningOnce) {
  std::filesystem::create_directory(path);
  append(1);
  append(2);
  EXPECT_EQ(warnings(), 1) << log_text;
  EXPECT_TRUE(logged("metrics.jsonl' lacks the evaluation of step 1: Is a directory; the run continues")) << log_text;
}

TEST_F(MetricsLine, T_169_APipeIsNotWaitedForAndALinkNotFollowed) {
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  append(1);
  EXPECT_EQ(warnings(), 1) << log_text;
  std::filesystem::remove(path);
  const std::string target = temp / "elsewhere";
  std::ofstream(target) << "kept\n";
  std::filesystem::create_symlink(target, path);
  append(2);
  EXPECT_EQ(text_of(target), "kept\n");
}

TEST_F(MetricsLine, T_169_InADirectoryThatWasMovedIsAWarningOnce) {
  std::ofstream(path) << "{\"step\":1}\n";
  std::filesystem::rename(temp / "run", temp / "moved");
  append(2);
  append(3);
  EXPECT_EQ(warnings(), 1) << log_text;
  EXPECT_FALSE(std::filesystem::exists(path)) << "nothing comes into being at the old path";
}

}  // namespace
}  // namespace belay::runtime::testing
