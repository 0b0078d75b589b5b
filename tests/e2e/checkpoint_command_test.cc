// SPDX-License-Identifier: Apache-2.0
// belay checkpoint, through the real program.
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/e2e/run_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using Json = nlohmann::json;

// The second saver, a plugin of the tests; and a program that never finds the first one's.
const std::string kHalves = "halves";

class CheckpointCommandTest : public RunTest {
 protected:
  void train(int max_steps = 50, const std::string& more = "") {
    const ProcessResult r =
        belay({"run", regression("", "[checkpoint]\nsave_steps = 20\nmax_to_keep = 3\n" + more, max_steps)});
    ASSERT_EQ(r.status, 0) << r.err;
  }
  ProcessResult run(std::vector<std::string> args) const {
    args.insert(args.begin(), "checkpoint");
    return belay(std::move(args));
  }
  Json json(std::vector<std::string> args) const {
    args.emplace_back("--json");
    const ProcessResult r = run(std::move(args));
    return Json::parse(r.out, nullptr, false);
  }
  std::string in_run(const std::string& name) const { return run_dir() + "/" + name; }
  void flip_last_byte(const std::string& path) const {
    std::string bytes = contents(path);
    ASSERT_FALSE(bytes.empty()) << path;
    bytes.back() = static_cast<char>(bytes.back() ^ 1);
    write_file(path, bytes);
  }
  static std::vector<std::string> checkpoints(const std::string& dir) {
    std::vector<std::string> names = listing(dir);
    std::erase_if(names, [](const std::string& n) { return n.rfind("model.ckpt-", 0) != 0; });
    return names;
  }
};

// ---- ls ----

TEST_F(CheckpointCommandTest, LsIsATableOfTheRunsCheckpoints) {
  train();
  const ProcessResult r = run({"ls", run_dir()});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(r.err, "");
  std::vector<std::string> lines = lines_with(r.out, "");
  ASSERT_GE(lines.size(), 4u) << r.out;
  EXPECT_THAT(lines[0], MatchesRegex("checkpoint +step +age +size +saver +.*restorable"));
  EXPECT_THAT(lines[1], MatchesRegex("model.ckpt-20 +20 +[0-9]+ (s|min) +[0-9.]+ (bytes|KiB) +safetensors +yes"));
  EXPECT_THAT(lines[3],
              MatchesRegex("model.ckpt-50 +50 +[0-9]+ (s|min) +[0-9.]+ (bytes|KiB) +safetensors +yes, current"));
}

TEST_F(CheckpointCommandTest, LsAsJsonHasWhatTheTableHas) {
  train();
  ASSERT_EQ(run({"pin", in_run("model.ckpt-40")}).status, 0);
  std::filesystem::remove(in_run("model.ckpt-20/state"));
  const Json list = json({"ls", run_dir()});
  ASSERT_EQ(list.size(), 3u) << list;
  EXPECT_EQ(list[0]["restorable"], false);
  EXPECT_EQ(list[0]["code"], "B4018");
  EXPECT_EQ(list[0]["problem"], "state is missing");
  EXPECT_EQ(list[1]["pinned"], true);
  EXPECT_EQ(list[1]["path"], in_run("model.ckpt-40"));
  EXPECT_EQ(list[2]["current"], true);
  EXPECT_EQ(list[2]["step"], 50);
  EXPECT_EQ(list[2]["saver"], "safetensors");
  EXPECT_GT(list[2]["bytes"], 0);
  EXPECT_EQ(json({"ls", in_run("model.ckpt-50/.")}).at(0)["name"], "model.ckpt-50");
  EXPECT_EQ(json({"verify", in_run("model.ckpt-50/")}).size(), 1u);
}

TEST_F(CheckpointCommandTest, LsNeedsNoSaver) {
  train();
  const ProcessResult r = belay({"checkpoint", "ls", run_dir()}, {"BELAY_PLUGIN_PATH=" + (temp / "nothing")});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("model.ckpt-50"));
}

// ---- show ----

TEST_F(CheckpointCommandTest, ShowHasStatisticsOfEachTensor) {
  train();
  const ProcessResult r = run({"show", run_dir()});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("step 50, saver safetensors"));
  EXPECT_THAT(r.out, ::testing::ContainsRegex("global_step +int64 +\\[\\] +50 +50 +50"));
  const Json shown = json({"show", in_run("model.ckpt-40"), "--only", "global"});
  EXPECT_EQ(shown["step"], 40);
  ASSERT_EQ(shown["tensors"].size(), 1u) << shown;
  EXPECT_EQ(shown["tensors"][0], Json::parse(R"({"name": "global_step", "dtype": "int64", "shape": [], "min": 40,
                                                "max": 40, "mean": 40.0, "non_finite": 0})"));
}

// A name of any length is matched; of none that is, a comparison would end well.
TEST_F(CheckpointCommandTest, T_128_APatternThatMatchesNoTensorIsAnError) {
  train();
  const std::string path = in_run("model.ckpt-40"), file = temp / "long.safetensors";
  for (const std::vector<std::string>& call :
       {std::vector<std::string>{"show", path}, {"diff", path, in_run("model.ckpt-50")}, {"convert", path, file}}) {
    std::vector<std::string> all = call;
    all.insert(all.end(), {"--only", "globalstep"});
    const ProcessResult r = run(all);
    EXPECT_EQ(r.status, 2) << call[0] << r.out;
    EXPECT_THAT(r.err, HasSubstr("--only: no tensor is matched by 'globalstep' (did you mean \"global_step\"?); "
                                 "there are: "))
        << call[0];
  }
  const std::string name(30'000, 'a');
  const std::string head = "{\"" + name + "\": {\"dtype\": \"F32\", \"shape\": [1], \"data_offsets\": [0, 4]}}";
  const std::uint64_t length = head.size();
  write_file(file, std::string(reinterpret_cast<const char*>(&length), sizeof(length)) + head + std::string(4, '\0'));
  EXPECT_EQ(json({"show", file, "--only", "a+$"})["tensors"].size(), 1u);
  EXPECT_EQ(run({"show", file, "--only", "b"}).status, 2);
}

TEST_F(CheckpointCommandTest, ShowPrintsTheValuesOfOneTensor) {
  train();
  const ProcessResult r = run({"show", in_run("model.ckpt-40"), "--tensor", "global_step"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(r.out, "global_step  int64 []\n40\n");
  const Json value = json({"show", in_run("model.ckpt-40"), "--tensor", "global_step"});
  EXPECT_EQ(value["values"], Json::parse("[40]"));
  const ProcessResult none = run({"show", run_dir(), "--tensor", "global_stop"});
  EXPECT_EQ(none.status, 2);
  EXPECT_THAT(none.err, HasSubstr("has no tensor 'global_stop' (did you mean \"global_step\"?)"));
}

// ---- verify ----

TEST_F(CheckpointCommandTest, VerifyEndsWith1OnDamageAndNamesIt) {
  train();
  const ProcessResult whole = run({"verify", temp.path()});
  EXPECT_EQ(whole.status, 0) << whole.err;
  EXPECT_THAT(whole.out, HasSubstr("3 looked at, 0 damaged\n"));
  flip_last_byte(in_run("model.ckpt-40/model.safetensors"));
  const ProcessResult r = run({"verify", temp.path()});
  EXPECT_EQ(r.status, 1) << r.err;
  EXPECT_THAT(r.out, ::testing::ContainsRegex("model.ckpt-40 +damaged .*model.safetensors has the CRC32C"));
  EXPECT_THAT(r.out, ::testing::ContainsRegex("model.ckpt-50 +whole"));
  EXPECT_THAT(r.out, HasSubstr("3 looked at, 1 damaged\n"));
  const Json all = json({"verify", in_run("model.ckpt-40")});
  ASSERT_EQ(all.size(), 1u) << all;
  EXPECT_EQ(all[0]["whole"], false);
}

TEST_F(CheckpointCommandTest, VerifyOfNothingAndWithoutTheSaver) {
  const ProcessResult nothing = run({"verify", temp.path()});
  EXPECT_EQ(nothing.status, 2);
  EXPECT_THAT(nothing.err, HasSubstr("there is no checkpoint in '" + temp.path() + "'"));
  ASSERT_NO_FATAL_FAILURE(train(20, "[scaffold.saver]\nplugin = \"halves\"\n"));
  const ProcessResult r =
      belay({"checkpoint", "verify", run_dir()}, {"BELAY_PLUGIN_PATH=" + tested_build() + "/plugins"});
  EXPECT_EQ(r.status, 3) << r.err;
  EXPECT_THAT(r.err, HasSubstr("saver \"halves\" is not found"));
  EXPECT_THAT(r.out, HasSubstr("0 damaged"));
  flip_last_byte(in_run("model.ckpt-20/halves.data-0"));
  EXPECT_EQ(belay({"checkpoint", "verify", run_dir()}, {"BELAY_PLUGIN_PATH=" + tested_build() + "/plugins"}).status, 1);
}

// ---- diff ----

TEST_F(CheckpointCommandTest, DiffEndsWith0Or1) {
  train();
  const ProcessResult same = run({"diff", run_dir(), in_run("model.ckpt-50")});
  EXPECT_EQ(same.status, 0) << same.err;
  EXPECT_THAT(same.out, MatchesRegex("[0-9]+ tensors equal, 0 different\n"));
  const ProcessResult r = run({"diff", in_run("model.ckpt-40"), in_run("model.ckpt-50"), "--only", "global_step"});
  EXPECT_EQ(r.status, 1) << r.err;
  EXPECT_EQ(r.out,
            "global_step  int64 []: 1 of 1 elements differ, first []: 40, 50; largest difference 10 at []\n"
            "0 tensors equal, 1 different\n");
  const Json json_diff = json({"diff", in_run("model.ckpt-40"), run_dir(), "--only", "global_step"});
  EXPECT_EQ(json_diff["differences"][0]["values"]["largest"], 10);
  EXPECT_EQ(json_diff["different"], 1);
}

// ---- convert ----

TEST_F(CheckpointCommandTest, ConvertFromSaverToSaverAndBackIsTheSame) {
  train();
  const std::string halves = temp / "halves", back = temp / "back";
  const ProcessResult there = run({"convert", run_dir(), halves, "--saver", kHalves});
  EXPECT_EQ(there.status, 0) << there.err;
  EXPECT_THAT(there.out, HasSubstr(", by halves\n"));
  EXPECT_THAT(listing(halves), ElementsAre("halves.data-0", "halves.index", "index", "schema.json", "state"));
  EXPECT_EQ(run({"convert", halves, back, "--saver", "safetensors"}).status, 0);
  EXPECT_EQ(contents(back + "/model.safetensors"), contents(in_run("model.ckpt-50/model.safetensors")));
  EXPECT_EQ(contents(back + "/state"), contents(in_run("model.ckpt-50/state")));
  EXPECT_EQ(run({"diff", run_dir(), halves}).status, 0);
  EXPECT_EQ(run({"verify", halves}).status, 0);
}

TEST_F(CheckpointCommandTest, ConvertToFilesOfOthersAndFromThem) {
  train();
  const std::string file = temp / "w.safetensors", pair = temp / "pair.index";
  EXPECT_EQ(run({"convert", run_dir(), file}).status, 0);  // by the ending
  EXPECT_EQ(contents(file), contents(in_run("model.ckpt-50/model.safetensors")));
  EXPECT_EQ(run({"convert", file, pair, "--saver", kHalves}).status, 0);
  EXPECT_FALSE(contents(temp / "pair.data-0").empty());
  // Another saver than that of the ending.
  EXPECT_EQ(run({"diff", pair, pair, "--saver", kHalves}).status, 0);
  EXPECT_EQ(run({"convert", pair, temp / "again.safetensors", "--source-saver", kHalves}).status, 0);
  EXPECT_EQ(contents(temp / "again.safetensors"), contents(file));
  const Json shown = json({"show", temp / "pair", "--saver", kHalves});
  EXPECT_EQ(shown["saver"], "halves") << shown;
}

TEST_F(CheckpointCommandTest, ARunGoesOnFromAConvertedCheckpoint) {
  train(40);
  const std::string copy = temp / "other/model.ckpt-40";
  std::filesystem::create_directory(temp / "other");
  ASSERT_EQ(run({"convert", run_dir(), copy, "--saver", kHalves}).status, 0);
  const std::string manifest = regression("", "[scaffold.saver]\nplugin = \"halves\"\n", 60);
  const ProcessResult r = belay({"run", manifest, "--set", "run.dir=\"other\""});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.err, HasSubstr("model.ckpt-40"));
  // Bit for bit where the run without the detour ends.
  ASSERT_NO_FATAL_FAILURE(train(60));
  EXPECT_EQ(run({"diff", run_dir(), temp / "other"}).status, 0);
}

TEST_F(CheckpointCommandTest, ConvertReplacesNothing) {
  train();
  write_file(temp / "there.npz", "mine");
  const ProcessResult r = run({"convert", run_dir(), temp / "there.npz", "--saver", kHalves});
  EXPECT_EQ(r.status, 2);
  EXPECT_THAT(r.err, HasSubstr("exists, and nothing is replaced"));
  EXPECT_EQ(contents(temp / "there.npz"), "mine");
  const ProcessResult nowhere = run({"convert", run_dir(), temp / "no/where", "--saver", kHalves});
  EXPECT_EQ(nowhere.status, 2) << nowhere.err;
  const ProcessResult nothing = run({"convert", run_dir(), temp / "x"});
  EXPECT_EQ(nothing.status, 2);
  EXPECT_THAT(nothing.err, HasSubstr("name what writes with --saver"));
}

// ---- rm, pin ----

TEST_F(CheckpointCommandTest, RmRefusesWhatTheRunNeeds) {
  train();
  EXPECT_EQ(run({"rm", in_run("model.ckpt-20")}).status, 0);
  ASSERT_EQ(run({"pin", in_run("model.ckpt-40")}).status, 0);
  const ProcessResult pinned = run({"rm", in_run("model.ckpt-40")});
  EXPECT_EQ(pinned.status, 2);
  EXPECT_EQ(pinned.err, "error[B5013]: '" + in_run("model.ckpt-40") +
                            "' is not removed: it is pinned; --force removes it all the same\n");
  const ProcessResult off = run({"pin", in_run("model.ckpt-40"), "--off"});
  EXPECT_EQ(off.out, "unpinned " + in_run("model.ckpt-40") + "\n");
  EXPECT_EQ(run({"rm", in_run("model.ckpt-50")}).status, 0);
  const ProcessResult last = run({"rm", in_run("model.ckpt-40")});
  EXPECT_EQ(last.status, 2);
  EXPECT_THAT(last.err, HasSubstr("it is the only one of the run that can be restored"));
  // The remaining one is current, and the run continues from it.
  EXPECT_THAT(contents(in_run("checkpoint")), HasSubstr("model_checkpoint_path: \"model.ckpt-40\""));
  EXPECT_THAT(checkpoints(run_dir()), ElementsAre("model.ckpt-40"));
  EXPECT_EQ(run({"rm", in_run("model.ckpt-40"), "--force"}).status, 0);
  EXPECT_THAT(checkpoints(run_dir()), ElementsAre());
}

TEST_F(CheckpointCommandTest, RmOfARunThatGoesOnIsStatus6AndTheOthersWorkBesideIt) {
  train(40);
  const std::string manifest = regression("", "[checkpoint]\nsave_steps = 100000000\n", 100'000'000);
  BelayProcess training({"run", manifest});
  ASSERT_TRUE(training.wait_until([&] { return std::filesystem::exists(in_run("attempt")); }));
  const ProcessResult r = run({"rm", in_run("model.ckpt-20"), "--force"});
  EXPECT_EQ(r.status, 6) << r.err;
  EXPECT_THAT(r.err, HasSubstr("is in use by another run (host "));
  EXPECT_TRUE(std::filesystem::exists(in_run("model.ckpt-20/index")));
  EXPECT_EQ(run({"pin", in_run("model.ckpt-20")}).status, 0);
  EXPECT_EQ(run({"ls", run_dir()}).status, 0);
  EXPECT_EQ(run({"verify", in_run("model.ckpt-20")}).status, 0);
  training.kill(SIGTERM);
  EXPECT_EQ(training.wait().status, 143);
}

TEST_F(CheckpointCommandTest, RetentionKeepsAPinnedCheckpoint) {
  train(40);
  ASSERT_EQ(run({"pin", in_run("model.ckpt-20")}).status, 0);
  train(120);
  EXPECT_THAT(checkpoints(run_dir()),
              ElementsAre("model.ckpt-100", "model.ckpt-120", "model.ckpt-20", "model.ckpt-80"));
  EXPECT_EQ(run({"verify", run_dir()}).status, 0);
}

TEST_F(CheckpointCommandTest, RmAndPinTakeACheckpointOnly) {
  train();
  for (const char* verb : {"rm", "pin"}) {
    const ProcessResult r = run({verb, run_dir()});
    EXPECT_EQ(r.status, 2);
    EXPECT_THAT(r.err, HasSubstr("takes one checkpoint of a run directory"));
    EXPECT_EQ(run({verb, in_run("model.ckpt-7")}).status, 2);
  }
}

// ---- errors ----

TEST_F(CheckpointCommandTest, ADamagedOneIsStatus5AndNamed) {
  train(20);
  flip_last_byte(in_run("model.ckpt-20/model.safetensors"));
  for (const std::vector<std::string>& args :
       {std::vector<std::string>{"show", in_run("model.ckpt-20")},
        std::vector<std::string>{"convert", in_run("model.ckpt-20"), temp / "x", "--saver", kHalves}}) {
    const ProcessResult r = run(args);
    EXPECT_EQ(r.status, 5) << r.err;
    EXPECT_THAT(r.err, HasSubstr("model.safetensors has the CRC32C"));
    EXPECT_EQ(r.out, "");
  }
  EXPECT_FALSE(std::filesystem::exists(temp / "x"));
}

TEST_F(CheckpointCommandTest, WhatIsWrongWithTheCommandLineIsSaid) {
  const struct {
    std::vector<std::string> args;
    std::string expected;
  } cases[] = {
      {{}, "belay checkpoint takes what to do (ls, show, verify, diff, convert, rm, pin) and a path"},
      {{"list", "x"}, "belay checkpoint has no 'list'"},
      {{"shwo", "x"}, "did you mean \"show\"?"},
      {{"diff", "x"}, "belay checkpoint diff takes two paths, 1 were given"},
      {{"ls"}, "belay checkpoint ls takes one path, 0 were given"},
      {{"ls", "x", "--force"}, "belay checkpoint ls has no option --force"},
      {{"show", "x", "--off"}, "belay checkpoint show has no option --off"},
      {{"ls", temp / "none"}, "there is no '" + (temp / "none") + "'"},
      {{"show", temp / "none"}, "there is no '" + (temp / "none") + "'"},
  };
  for (const auto& c : cases) {
    const ProcessResult r = run(c.args);
    EXPECT_EQ(r.status, 2) << r.err;
    EXPECT_THAT(r.err, HasSubstr(c.expected));
    EXPECT_EQ(r.out, "");
  }
  write_file(temp / "text", "nothing of the kind");
  const ProcessResult unknown = run({"show", temp / "text"});
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(unknown.err, HasSubstr("does not show which saver wrote it: name one with --saver"));
  write_file(temp / "model.pt", std::string("\x80\x02}q\x01.") + "rest");
  for (const char* verb : {"show", "verify"})
    EXPECT_THAT(run({verb, temp / "model.pt"}).err,
                HasSubstr("model.pt' is a pickle of Python (torch.save, joblib), no file that a saver reads: write its "
                          "tensors with safetensors.torch.save_file"));
  const ProcessResult missing = run({"show", temp / "text", "--saver", "safetensor"});
  EXPECT_EQ(missing.status, 3);
  EXPECT_THAT(missing.err, HasSubstr("did you mean \"safetensors\"?"));
  EXPECT_EQ(run({"show", temp / "text", "--saver", "safetensors"}).status, 5);
  train(20);
  const ProcessResult pattern = run({"show", run_dir(), "--only", "(["});
  EXPECT_EQ(pattern.status, 2);
  EXPECT_THAT(pattern.err, HasSubstr("--only is \"([\", which is no regular expression"));
}

}  // namespace
}  // namespace belay::runtime::testing
