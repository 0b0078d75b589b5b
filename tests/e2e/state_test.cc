// SPDX-License-Identifier: Apache-2.0
// Hooks keep states in checkpoints: in tensors, and as the previous build wrote them.
#include <signal.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "runtime/checkpoint/format/index.h"
#include "runtime/platform/files/crc32c.h"
#include "tests/e2e/run_fixture.h"

namespace belay::runtime::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;

class StateTest : public RunTest {
 protected:
  // A model with dropout and an input that is shuffled; `megabytes` of state.
  std::string manifest(const std::string& name, int megabytes = 1, int max_steps = 60) {
    const std::string path = temp / (name + ".toml");
    write_file(path, "[run]\ndir = \"" + name + "\"\nmax_steps = " + std::to_string(max_steps) +
                         "\nthreads = 1\nseed = 7\n[input.train]\nplugin = \"numbers\"\nexamples = 100\n"
                         "batch_size = 16\nshuffle = true\n[model]\nplugin = \"mlp\"\nhidden = [9]\ndropout = 0.2\n"
                         "[optimizer]\nname = \"sgd\"\nlearning_rate = 0.01\n"
                         "[checkpoint]\nsave_steps = 10\nmax_to_keep = 2\n"
                         "[[hooks]]\nplugin = \"window\"\nmegabytes = " +
                         std::to_string(megabytes) + "\n");
    return path;
  }
  std::string checkpoint(const std::string& name, int step) const {
    return temp / (name + "/model.ckpt-" + std::to_string(step));
  }
  static nlohmann::json state_of(const std::string& checkpoint) {
    return nlohmann::json::parse(contents(checkpoint + "/state"));
  }
};

TEST_F(StateTest, B_08f_AHookWithFortyMegabytesOfTensorsResumesToTheSameBits) {
  ASSERT_EQ(belay({"run", manifest("whole", 40)}).status, 0);
  const std::string whole = contents(checkpoint("whole", 60) + "/state.data");
  ASSERT_EQ(whole.size(), 40'000'000u + 8'000u);
  BelayProcess run({"run", manifest("killed", 40)});
  ASSERT_TRUE(run.wait_until([&] { return fs::exists(checkpoint("killed", 20)); }));
  run.kill(SIGKILL);
  ASSERT_EQ(run.wait().signal, SIGKILL);
  const ProcessResult last = belay({"run", manifest("killed", 40)});
  ASSERT_EQ(last.status, 0) << last.err;
  EXPECT_EQ(lines_with(last.err, "restored step ").size(), 1u) << last.err;
  EXPECT_EQ(lines_with(last.err, "window: state of version 2.1.0 at run ").size(), 1u) << last.err;
  EXPECT_TRUE(contents(checkpoint("killed", 60) + "/state.data") == whole);
  EXPECT_EQ(weights(temp / "killed", 60), weights(temp / "whole", 60));
  const nlohmann::json killed = state_of(checkpoint("killed", 60)), expected = state_of(checkpoint("whole", 60));
  EXPECT_EQ(killed["hook_states"]["window"], expected["hook_states"]["window"]);
  EXPECT_EQ(killed["written_by"]["window"], "2.1.0");
}

// The first save is before the first step, so that what it takes is there then.
TEST_F(StateTest, WhatSavingTakesIsSaidAtTheStartWithWhatHooksKeep) {
  const std::string path = manifest("run", 1, 10);
  const ProcessResult r = belay({"run", path, "--log-format", "json"});
  ASSERT_EQ(r.status, 0) << r.err;
  const std::vector<std::string> begin = lines_with(r.err, "\"event\":\"begin\"");
  ASSERT_EQ(begin.size(), 1u) << r.err;
  const nlohmann::json said = nlohmann::json::parse(begin[0]);
  EXPECT_EQ(said["hook_state_bytes"], 1'008'000);
  EXPECT_GT(said["save_copy_bytes"], 0);
  const ProcessResult again = belay({"run", path, "--set", "run.max_steps=20"});
  EXPECT_EQ(lines_with(again.err, " memory      saving takes ").size(), 1u) << again.err;
  EXPECT_NE(again.err.find(" more, for a copy of the variables, and "), std::string::npos) << again.err;
}

// Nothing of an old checkpoint stays, neither by retention nor of a save that was killed.
TEST_F(StateTest, B_08f_RetentionAndCleaningUpRemoveTheTensorsToo) {
  ASSERT_EQ(belay({"run", manifest("run", 1, 40)}).status, 0);
  EXPECT_THAT(listing(checkpoint("run", 40)),
              ElementsAre("index", "manifest.toml", "model.safetensors", "schema.json", "state", "state.data"));
  const std::string unfinished = temp / "run/model.ckpt-50.tmp-0123456789abcdef";
  fs::create_directory(unfinished);
  write_file(unfinished + "/state.data", "half");
  ASSERT_EQ(belay({"run", manifest("run", 1, 60)}).status, 0);
  EXPECT_THAT(listing(run_dir()), ElementsAre("attempts", "checkpoint", kEventFile, kEventFile, "finished", "lock",
                                              "manifest-0001.toml", "manifest-0002.toml", "manifest.toml",
                                              "metrics.jsonl", "model.ckpt-50", "model.ckpt-60", "schema.json"));
}

TEST_F(StateTest, B_08e_DamagedTensorsAreNamedAndTheCheckpointBeforeIsTaken) {
  ASSERT_EQ(belay({"run", manifest("run", 1, 40)}).status, 0);
  const std::string file = checkpoint("run", 40) + "/state.data";
  std::string bytes = contents(file);
  bytes[777'777] = static_cast<char>(bytes[777'777] ^ 4);
  write_file(file, bytes);
  const ProcessResult r = belay({"run", manifest("run", 1, 50)});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(lines_with(r.err, "model.ckpt-40': state.data has the CRC32C ").size(), 1u) << r.err;
  EXPECT_EQ(lines_with(r.err, "restored step 30 ").size(), 1u) << r.err;
}

TEST_F(StateTest, B_08c_AStateOfALaterFormatIsRefusedAndNoOlderOneTaken) {
  ASSERT_EQ(belay({"run", manifest("run", 1, 40)}).status, 0);
  const std::string dir = checkpoint("run", 40);
  std::string state = contents(dir + "/state");
  ASSERT_EQ(state.substr(0, 14), "{\n \"format\": 3");
  state[13] = '4';
  write_file(dir + "/state", state);
  CheckpointIndex index = parse_index(contents(dir + "/index"));  // that vouches for it
  for (FileEntry& f : index.files)
    if (f.name == "state") f.crc32c = crc32c(state);
  write_file(dir + "/index", format_index(index));
  const ProcessResult r = belay({"run", manifest("run", 1, 50)});
  EXPECT_EQ(r.status, 5) << r.err;
  EXPECT_EQ(lines_with(r.err, "state: it is of format 4, which a later belay wrote; this is belay ").size(), 1u)
      << r.err;
  EXPECT_EQ(lines_with(r.err, "use a newer belay").size(), 1u) << r.err;
}

// tests/e2e/before/run is a run directory of belay 0.1.0 before `state` had a format: train.toml, killed after the
// checkpoint of step 15 of 30.
TEST_F(StateTest, B_08g_ARunDirectoryOfTheBuildBeforeGoesOn) {
  const std::string before = BELAY_SOURCE_DIR "/tests/e2e/before";
  fs::copy(before, temp.path(), fs::copy_options::recursive);
  const ProcessResult r = belay({"run", temp / "train.toml"});
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(lines_with(r.err, "restored step 15 ").size(), 1u) << r.err;
  // The hook counts 30 steps from the first start: without its state the run would end at 45.
  EXPECT_EQ(lines_with(r.err, "stop_at_step: reached step 30 (num_steps = 30)").size(), 1u) << r.err;
  const nlohmann::json state = state_of(run_dir() + "/model.ckpt-30");
  EXPECT_EQ(state["format"], 3);
  // As that build's own run ended: the fourth batch is the epoch's last, with 33 examples.
  EXPECT_EQ(state["input_positions"]["train"], (nlohmann::json{{"epoch", 7}, {"index", 200}}));
  const nlohmann::json& stopping = state["hook_states"]["early_stopping"];
  EXPECT_EQ(stopping["looks_without"][1], 29);
  EXPECT_EQ(stopping["best_step"][1], 1);
  EXPECT_EQ(stopping["best"][1], 2.3025848865509033);
  EXPECT_EQ(state["hook_states"]["step_counter"]["last_triggered_step"][1], 29);
  EXPECT_EQ(state["hook_states"]["stop_at_step"]["target"][1], 30);
  EXPECT_EQ(state["written_by"]["early_stopping"], "1.0.0");
}

}  // namespace
}  // namespace belay::runtime::testing
