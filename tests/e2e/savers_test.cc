// SPDX-License-Identifier: Apache-2.0
// Runs with each saver, ours and a foreign one that knows nothing of what the host does for it.
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "tests/e2e/run_fixture.h"

namespace belay::runtime::testing {
namespace {

namespace fs = std::filesystem;

struct SaverCase {
  const char* name;
  const char* table;  // of the manifest
  const char* file;   // one that it writes
};

class SaverRun : public RunTest, public ::testing::WithParamInterface<SaverCase> {
 protected:
  static constexpr int kSteps = 240;
  std::string manifest(const std::string& name) {
    const std::string path = temp / (name + ".toml");
    write_file(path,
               "[run]\ndir = \"" + name + "\"\nmax_steps = " + std::to_string(kSteps) +
                   "\nthreads = 2\nseed = 7\n[input.train]\nplugin = \"digits\"\nexamples = 333\nbatch_size = "
                   "32\nshuffle = true\n[model]\nplugin = \"mlp\"\nhidden = [33, 17]\ndropout = 0.3\n[optimizer]\n"
                   "name = \"adam\"\nlearning_rate = 0.01\n[checkpoint]\nsave_steps = 20\nmax_to_keep = 3\n"
                   "[scaffold]\nsaver = { " +
                   GetParam().table + " }\n");
    return path;
  }
  // The saver's files: the host's own files hold times and the like.
  std::map<std::string, std::string> saved(const std::string& name, int step) const {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::directory_iterator(temp / (name + "/model.ckpt-" + std::to_string(step)))) {
      const std::string file = entry.path().filename().string();
      if (file != "index" && file != "state" && file != "state.data" && file != "manifest.toml" &&
          file != "schema.json")
        files[file] = contents(entry.path().string());
    }
    return files;
  }
};

TEST_P(SaverRun, KilledAndStartedAgainItEndsWithTheSameBits) {
  const ProcessResult undisturbed = belay({"run", manifest("whole")});
  ASSERT_EQ(undisturbed.status, 0) << undisturbed.err;
  const auto whole = saved("whole", kSteps);
  EXPECT_EQ(whole.count(GetParam().file), 1u);
  const std::string path = manifest("killed");
  int kills = 0;
  for (const int at : {20, 100, 180}) {
    BelayProcess run({"run", path});
    if (!run.wait_until([&] { return fs::exists(temp / ("killed/model.ckpt-" + std::to_string(at))); })) continue;
    run.kill(SIGKILL);
    if (run.wait().signal == SIGKILL) ++kills;
  }
  EXPECT_GE(kills, 1);
  const ProcessResult last = belay({"run", path});
  ASSERT_EQ(last.status, 0) << last.err;
  EXPECT_EQ(lines_with(last.err, "restored step ").size(), 1u) << last.err;
  EXPECT_TRUE(saved("killed", kSteps) == whole);
}

TEST_P(SaverRun, OldCheckpointsAreRemovedAndADamagedOneIsPassedOver) {
  ASSERT_EQ(belay({"run", manifest("run")}).status, 0);
  std::vector<std::string> kept = listing(run_dir());
  std::erase_if(kept, [](const std::string& name) { return name.rfind("model.ckpt-", 0) != 0; });
  EXPECT_EQ(kept, (std::vector<std::string>{"model.ckpt-200", "model.ckpt-220", "model.ckpt-240"}));
  const std::string file = run_dir() + "/model.ckpt-240/" + GetParam().file;
  std::string bytes = contents(file);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  write_file(file, bytes);
  const ProcessResult again = belay({"run", manifest("run")});
  ASSERT_EQ(again.status, 0) << again.err;
  EXPECT_EQ(lines_with(again.err, "restored step 220 ").size(), 1u) << again.err;
  EXPECT_EQ(lines_with(again.err, std::string(GetParam().file) + " has the CRC32C ").size(), 1u) << again.err;
}

INSTANTIATE_TEST_SUITE_P(
    Each, SaverRun,
    ::testing::Values(SaverCase{"tf_bundle", "plugin = \"tf_bundle\"", "model.data-00000-of-00001"},
                      SaverCase{"tf_bundle_in_shards", "plugin = \"tf_bundle\", shard_bytes = 9000", "model.index"},
                      SaverCase{"npz", "plugin = \"npz\"", "model.npz"},
                      SaverCase{"safetensors_in_shards", "plugin = \"safetensors\", shard_bytes = 9000",
                                "model.safetensors.index.json"},
                      SaverCase{"stdio", "plugin = \"stdio_saver\"", "tensors.stdio"}),
    [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace belay::runtime::testing
