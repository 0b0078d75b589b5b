// SPDX-License-Identifier: Apache-2.0
// A training that evaluates, stops early, keeps its best checkpoints and ends with the best weights, killed again and
// again: on real data, through the real program.
#include <signal.h>

#include <filesystem>

#include "tests/e2e/modes_fixture.h"

namespace belay::runtime::testing {
namespace {

// The hook `trouble` is called after checkpoint_saver, a default, and before restore_best.
constexpr const char* kManifest = R"(
[run]
max_steps = 3000
threads = 2
[input.train]
plugin = "idx"
images = "${BELAY_DATA_DIR}/mnist/train-images-idx3-ubyte.gz"
labels = "${BELAY_DATA_DIR}/mnist/train-labels-idx1-ubyte.gz"
batch_size = 32
shuffle = true
decode_threads = 2
[input.eval]
plugin = "idx"
images = "${BELAY_DATA_DIR}/mnist/t10k-images-idx3-ubyte.gz"
labels = "${BELAY_DATA_DIR}/mnist/t10k-labels-idx1-ubyte.gz"
batch_size = 500
epochs = 1
[model]
plugin = "mlp"
hidden = [16]
dropout = 0.1
[optimizer]
name = "adam"
learning_rate = 0.03
[eval]
every_steps = 200
[checkpoint]
save_steps = 100
max_to_keep = 2
keep_best = 3
best_metric = "eval/accuracy"
[[hooks]]
plugin = "early_stopping"
tensor = "eval/accuracy"
patience = 3
min_delta = 0.01
[[hooks]]
plugin = "trouble"
[[hooks]]
plugin = "restore_best"
)";

// The process dies at this place. If `shown` is not empty, it is killed from outside once stderr shows that, and at
// this place at the latest.
struct Kill {
  const char* dies_in;
  int at;
  const char* shown = "";
};
// Each attempt saves step S of its start, then every 100 steps, and after an evaluation that is among the best. All but
// the last are over before early_stopping can stop the run, at step 801.
constexpr Kill kKills[] = {
    {"after_run", 150},                     // between two saves: 100 is there
    {"before_save", 3},                     // 100, 200, and the best, 200: evaluated, and that is lost
    {"after_save", 2},                      // 200 has its evaluation now, which was made before the first step
    {"after_create_session", 1},            // before anything
    {"after_save", 3},                      // 200, 300, 400: not yet evaluated
    {"before_run", 1},                      // evaluated before the first step, and saved again
    {"after_run", 250, "eval: step 600:"},  // in the save of a best one, or soon after it
    {"after_run", 60, "saved "},            // while the first steps are made
    {"before_save", 2},                     // before anything new is saved
    {"end", 1},                             // the last step is saved, the best weights are not yet restored
};

class ResumeModes : public ModesData {
 protected:
  struct Left {  // after a run
    std::map<std::string, std::string> variables;
    std::string best;
    friend bool operator==(const Left&, const Left&) = default;
  };

  std::string manifest() const {
    const std::string path = temp / "train.toml";
    write_file(path, kManifest);
    return path;
  }
  Left left() const {
    Left found;
    for (const auto& entry : std::filesystem::directory_iterator(temp / "run"))
      if (entry.path().filename().string().rfind("model.ckpt-", 0) == 0)
        found.variables[entry.path().filename().string()] = contents(entry.path().string() + "/model.safetensors");
    found.best = contents(temp / "run/best");
    return found;
  }
  // Its output, if it was killed in time.
  ProcessResult die(const Kill& kill) {
    BelayProcess run(
        {"run", manifest(), "--set", "run.dir=\"" + (temp / "run") + "\"", "--set",
         std::string("hooks.1.dies_in=") + kill.dies_in, "--set", "hooks.1.dies_at=" + std::to_string(kill.at)},
        data_variables());
    if (*kill.shown != '\0' && run.wait_for(kill.shown)) run.kill(SIGKILL);
    return run.wait();
  }
};

TEST_F(ResumeModes, KilledTenTimesItEndsWithTheBitsTheBestAndTheEvaluationOfOneThatWasNot) {
  NEEDS_DATA("mnist/t10k-labels-idx1-ubyte.gz");
  const ProcessResult whole = use("run", manifest());
  ASSERT_EQ(whole.status, 0) << whole.err;
  const Left wanted = left();
  ASSERT_GE(wanted.variables.size(), 4u) << "the best three, and the last";
  std::filesystem::rename(temp / "run", temp / "whole");

  for (const Kill& kill : kKills) {
    const ProcessResult killed = die(kill);
    ASSERT_EQ(killed.signal, SIGKILL) << kill.dies_in << " " << kill.at << "\n" << killed.err;
  }
  const ProcessResult last = use("run", manifest());
  ASSERT_EQ(last.status, 0) << last.err;
  EXPECT_TRUE(left() == wanted) << left().best << wanted.best << last.err;
  EXPECT_EQ(last.out, whole.out);

  const ProcessResult predicted = use("predict", manifest(), {"--keys", "class", "--format", "csv"});
  ASSERT_EQ(predicted.status, 0) << predicted.err;
  EXPECT_EQ(accuracy_of_classes(predicted.out), metric(last.out, "accuracy")) << last.out;
}

}  // namespace
}  // namespace belay::runtime::testing
