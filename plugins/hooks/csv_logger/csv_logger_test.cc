// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include "belay/testing/temporary_folder.h"
#include "belay/testing/testing.h"

extern "C" const belay_module belay_module_csv_logger;

namespace csv_logger_test {

using namespace belay::testing;
using Texts = std::vector<std::string>;

const belay_module& module() { return module_under_test(belay_module_csv_logger); }

class CsvLogger : public ::testing::Test {
 protected:
  std::unique_ptr<HookDriver> started(const OptionValues& options, const StoredState* state = nullptr,
                                      std::int64_t step = 0) {
    auto hook = std::make_unique<HookDriver>(module(), options, DriverSetup{.run_directory = folder.path()});
    hook->tensor<float>("loss");
    hook->tensor<double>("accuracy");
    hook->global_step(step);
    hook->begin();
    if (state != nullptr) hook->load_state(*state);
    hook->create_session();
    return hook;
  }
  static void run(HookDriver& hook, int runs) {
    for (int i = 0; i < runs; ++i) {
      const auto step = static_cast<double>(hook.step_number() + 1);
      hook.step({{"loss", static_cast<float>(1 / step)}, {"accuracy", 1 - 1 / step}});
    }
  }
  std::string text() const {
    std::ifstream in(folder.file("metrics.csv"));
    std::ostringstream out;
    out << in.rdbuf();
    return out.str();
  }
  TemporaryFolder folder;
};

TEST_F(CsvLogger, RefusesUnusableOptions) {
  struct Case {
    OptionValues options;
    const char* error;
  };
  const Case cases[] = {
      {{}, "INVALID_ARGUMENT: 'tensors' is required"},
      {{{"tensors", Texts{}}}, "INVALID_ARGUMENT: 'tensors' is empty; name what to write"},
      {{{"tensors", Texts{"loss"}}, {"output_file", "../x.csv"}},
       "INVALID_ARGUMENT: 'output_file' is '../x.csv'; give a name without '/'"},
      {{{"tensors", Texts{"loss"}}, {"every_n_steps", 0}}, "INVALID_ARGUMENT: 'every_n_steps' is 0, must be >= 1"},
  };
  for (const Case& c : cases) EXPECT_EQ(error_of([&] { HookDriver hook(module(), c.options); }), c.error);
  EXPECT_EQ(error_of([] {
              HookDriver hook(module(), {{"tensors", Texts{"loss"}}}, {.run_directory = ""});
            }),
            "INVALID_ARGUMENT: csv_logger needs the run directory, and this run has none; set [run] dir");
}

TEST_F(CsvLogger, WritesALineEverySoManySteps) {
  const auto hook = started({{"tensors", Texts{"loss", "accuracy"}}, {"every_n_steps", 2}});
  run(*hook, 4);
  EXPECT_EQ(text(), "global_step,loss,accuracy\n1,1,0\n3,0.3333333432674408,0.6666666666666667\n");
}

TEST_F(CsvLogger, AResumedRunLeavesTheFileOfARunThatWasNeverEnded) {
  const OptionValues options{{"tensors", Texts{"loss"}}, {"every_n_steps", 3}};
  run(*started(options), 20);
  const std::string whole = text();
  for (int cut = 1; cut < 20; ++cut) {
    StoredState state;
    {
      const auto first = started(options);
      run(*first, cut);
      first->save();
      state = first->save_state();
      run(*first, 7);  // the run is killed now, so these lines come again
    }
    run(*started(options, &state, cut), 20 - cut);
    EXPECT_EQ(text(), whole) << "cut at " << cut;
  }
}

TEST_F(CsvLogger, ARecoveryCutsWhatComesAgain) {
  const auto hook = started({{"tensors", Texts{"loss"}}, {"every_n_steps", 1}});
  run(*hook, 1);
  hook->save();
  run(*hook, 1);
  hook->recover();
  run(*hook, 1);
  EXPECT_EQ(text(), "global_step,loss\n1,1\n2,0.5\n");
}

TEST_F(CsvLogger, T_63f_ASymbolicLinkIsNotFollowedOutOfTheRunDirectory) {
  const OptionValues options{{"tensors", Texts{"loss"}}, {"every_n_steps", 1}};
  const TemporaryFolder elsewhere;
  const std::string error = "FAILED_PRECONDITION: '" + folder.file("metrics.csv") +
                            "' cannot be written: it is a symbolic link, which could lead out of the run directory; "
                            "remove it, or give another "
                            "'output_file'";
  const auto first = started(options);
  run(*first, 3);
  const StoredState state = first->save_state();
  const std::string target = elsewhere.write("precious", text());
  const std::uintmax_t size = std::filesystem::file_size(target);
  std::filesystem::remove(folder.file("metrics.csv"));
  std::filesystem::create_symlink(target, folder.file("metrics.csv"));
  EXPECT_EQ(error_of([&] { started(options); }), error);
  EXPECT_EQ(error_of([&] { started(options, &state, 2); }), error);
  EXPECT_EQ(std::filesystem::file_size(target), size);
}

TEST_F(CsvLogger, AFileThatIsNotTheRunsOwnIsLeftAlone) {
  const OptionValues options{{"tensors", Texts{"loss"}}, {"every_n_steps", 1}};
  const auto first = started(options);
  run(*first, 3);
  const StoredState state = first->save_state();
  EXPECT_EQ(error_of([&] {
              started({{"tensors", Texts{"accuracy"}}}, &state, 3);
            }),
            "FAILED_PRECONDITION: '" + folder.file("metrics.csv") +
                "' has other columns than 'global_step,accuracy', which this run writes; move it away, or give another "
                "'output_file'");
}

// A log rotation that takes the table away must not end the training.
TEST_F(CsvLogger, T_169_AFileThatHasLostLinesIsAWarningAndGrowsOn) {
  const OptionValues options{{"tensors", Texts{"loss"}}, {"every_n_steps", 1}};
  const auto first = started(options);
  run(*first, 3);
  const StoredState state = first->save_state();
  folder.write("metrics.csv", "global_step,loss\n2,0.5\n");
  const auto second = started(options, &state, 3);
  run(*second, 1);
  EXPECT_TRUE(second->host().has_logged("warning: '" + folder.file("metrics.csv") + "' has lost lines: 23 of the " +
                                        std::to_string(17 + 4 + 6 + 21) +
                                        " bytes that the last checkpoint counted are left"));
  EXPECT_EQ(text(), "global_step,loss\n2,0.5\n4,0.25\n");
}

class ChangedFiles : public CsvLogger {
 protected:
  const OptionValues options{{"tensors", Texts{"loss"}}, {"every_n_steps", 1}};
  std::string table(int last) const {
    std::string all = "global_step,loss\n";
    const char* lines[] = {"1,1\n", "2,0.5\n", "3,0.3333333432674408\n", "4,0.25\n", "5,0.20000000298023224\n"};
    for (int i = 0; i < last; ++i) all += lines[i];
    return all;
  }
};

// Ranks that regroup begin a new session so: it starts at the reached step, and no state is loaded.
TEST_F(ChangedFiles, T_155_ASessionAnewOverTheSameVariablesKeepsAllLines) {
  StoredState state;
  {
    const auto first = started(options);
    run(*first, 2);
    state = first->save_state();
  }
  const auto hook = started(options, &state, 2);
  run(*hook, 2);
  hook->recover();
  run(*hook, 1);
  EXPECT_EQ(text(), table(5));
}

TEST_F(ChangedFiles, T_155_ARecoveryWithoutACheckpointCutsAllLinesThatComeAgain) {
  const auto hook = started(options);
  run(*hook, 4);
  hook->set_global_step(1);
  hook->recover();
  EXPECT_EQ(text(), table(1));
  run(*hook, 4);
  EXPECT_EQ(text(), table(5));
}

// A new process takes the chief's place. It has the last checkpoint's state, and the steps of the others.
TEST_F(ChangedFiles, T_155_AProcessThatBeginsFurtherThanItsCheckpointKeepsTheLinesUpToThere) {
  StoredState state;
  {
    const auto first = started(options);
    run(*first, 2);
    state = first->save_state();
    run(*first, 3);
  }
  folder.write("metrics.csv", table(5) + "6,0.1");  // killed inside a line
  run(*started(options, &state, 4), 1);
  EXPECT_EQ(text(), table(5));
  run(*started(options, nullptr, 3), 2);  // there was no checkpoint
  EXPECT_EQ(text(), table(5));
}

TEST_F(ChangedFiles, T_169_AFileThatIsRotatedAwayBeginsAnewWithItsHeader) {
  const auto hook = started(options);
  run(*hook, 2);
  std::filesystem::rename(folder.file("metrics.csv"), folder.file("metrics.csv.1"));
  run(*hook, 2);
  EXPECT_EQ(text(), "global_step,loss\n3,0.3333333432674408\n4,0.25\n");
  EXPECT_EQ(hook->logged(),
            Texts{"warning: '" + folder.file("metrics.csv") +
                  "' was removed or replaced while the run wrote it; it is opened anew, and what was written before is "
                  "not in it"});
}

}  // namespace csv_logger_test
