// SPDX-License-Identifier: Apache-2.0
// The work of belay checkpoint on stored tensors: they are read in groups, compared, listed and verified.
#include <filesystem>
#include <map>

#include "runtime/checkpoint/directory/checkpoint_series.h"
#include "runtime/checkpoint/format/names.h"
#include "runtime/checkpoint/read/best_checkpoints.h"
#include "runtime/checkpoint/stored/compare_stored.h"
#include "runtime/checkpoint/stored/list_stored.h"
#include "runtime/checkpoint/stored/verify_stored.h"
#include "runtime/checkpoint/write/pinned.h"
#include "tests/checkpoint/run_directory_fixture.h"

namespace belay::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class StoredTensorsTest : public RunDirectoryTest {
 protected:
  void save(std::int64_t step, OpenDirectory* run = nullptr) {
    CheckpointSeries series(files_, run == nullptr ? *run_ : *run, clock_, log_, {});
    series.recover();
    clock_.advance(FakeClock::kSecond);
    series.save(StepContent(step).content(), saver_.use());
  }
  std::unique_ptr<CheckpointReader> open(std::int64_t step) {
    return CheckpointReader::open(run_->open_directory(checkpoint_name(step)));
  }
  void flip_last_byte(const std::string& name) {
    std::string bytes = read_file(dir_ / name);
    bytes.back() = static_cast<char>(bytes.back() ^ 1);
    write_file(dir_ / name, bytes);
  }
  SaverUse use_ = saver_.use();
};

// ---- read_tensors ----

// Counts the calls and the memory that each was given.
class CountingStored final : public StoredTensors {
 public:
  explicit CountingStored(const StoredTensors& stored) : stored_(stored) {}
  const std::string& path() const override { return stored_.path(); }
  std::vector<TensorInfo> tensors() const override { return stored_.tensors(); }
  void read(const SaverUse& saver, const std::vector<NamedTensor>& targets) const override {
    std::uint64_t bytes = 0;
    for (const NamedTensor& t : targets) bytes += TensorView(t.tensor).bytes();
    calls.push_back(bytes);
    stored_.read(saver, targets);
  }
  mutable std::vector<std::uint64_t> calls;

 private:
  const StoredTensors& stored_;
};

TEST_F(StoredTensorsTest, AreReadInGroupsOfSoManyBytes) {
  save(1);  // dense/bias 24 bytes, dense/kernel 60, global_step 8
  const auto reader = open(1);
  const CountingStored stored(*reader);
  std::vector<std::string> names;
  const auto use = [&](const NamedTensor& t) { names.push_back(t.name); };
  read_tensors(stored, use_, stored.tensors(), use, 68);
  EXPECT_THAT(stored.calls, ElementsAre(24u, 68u));
  read_tensors(stored, use_, stored.tensors(), use, 1);
  EXPECT_THAT(stored.calls, ElementsAre(24u, 68u, 24u, 60u, 8u));
  read_tensors(stored, use_, stored.tensors(), use);
  EXPECT_EQ(stored.calls.back(), 92u);
  EXPECT_THAT(names, ElementsAre("dense/bias", "dense/kernel", "global_step", "dense/bias", "dense/kernel",
                                 "global_step", "dense/bias", "dense/kernel", "global_step"));
}

// ---- compare_stored ----

TEST_F(StoredTensorsTest, TwoCheckpointsAreComparedByNameFormAndValue) {
  save(1), save(2);
  const auto a = open(1), b = open(2);
  std::map<std::string, StoredDifference> found;
  const auto report = [&](const StoredDifference& d) { found[d.name] = d; };
  const auto all = [](const std::string&) { return true; };
  ComparedStored sums = compare_stored({*a, use_}, {*b, use_}, all, report);
  EXPECT_EQ(sums.equal, 0u);
  EXPECT_EQ(sums.different, 3u);
  EXPECT_EQ(found.at("dense/kernel").values->count, 15u);
  EXPECT_EQ(found.at("dense/kernel").values->largest, 1);
  EXPECT_EQ(found.at("dense/bias").values->count, 1u);
  EXPECT_EQ(found.at("dense/bias").position, "[0]");
  EXPECT_EQ(found.at("dense/bias").a_text, "1.5");
  EXPECT_EQ(found.at("dense/bias").b_text, "3");

  sums = compare_stored(
      {*a, use_}, {*b, use_}, [](const std::string& n) { return n == "dense/bias"; }, report);
  EXPECT_EQ(sums.different, 1u);
  sums = compare_stored({*a, use_}, {*a, use_}, all, [](const StoredDifference&) { FAIL(); });
  EXPECT_EQ(sums.equal, 3u);
}

TEST_F(StoredTensorsTest, WhatIsInOneOnlyOrOfAnotherFormIsADifference) {
  save(1);
  const auto a = open(1);
  StepContent other(1, 4);
  other.content().variables.erase(other.content().variables.begin() + 1);
  const TempDir elsewhere;
  const auto run = files_.open_directory(elsewhere.path());
  write_checkpoint(*run, other.content(), use_, log_);
  const auto b = CheckpointReader::open(run->open_directory("model.ckpt-1"));
  std::vector<std::string> lines;
  const auto report = [&](const StoredDifference& d) {
    lines.push_back(d.name + ": " + (d.a ? form_text(*d.a) : "none") + ", " + (d.b ? form_text(*d.b) : "none"));
  };
  compare_stored(
      {*a, use_}, {*b, use_}, [](const std::string&) { return true; }, report);
  compare_stored(
      {*b, use_}, {*a, use_}, [](const std::string& n) { return n == "dense/bias"; }, report);
  EXPECT_THAT(lines, ElementsAre("dense/bias: float64 [3], none", "dense/kernel: float32 [15], float32 [4]",
                                 "dense/bias: none, float64 [3]"));
}

// ---- list_stored ----

TEST_F(StoredTensorsTest, TheListHasWhatTheRunSaysOfEach) {
  save(1), save(2), save(10);
  pin(*run_->open_directory("model.ckpt-1"));
  write_file(dir_ / "best", format_best_list({"eval/loss", Better::kSmaller, {{2, 0.25}}}) + "\n");
  run_->make_directory("model.ckpt-11.tmp-0123456789abcdef");
  const StoredList list = list_stored(files_, dir_.path(), log_);
  EXPECT_EQ(list.best_metric, "eval/loss");
  ASSERT_EQ(list.all.size(), 3u);
  EXPECT_EQ(list.all[0].name, "model.ckpt-1");
  EXPECT_EQ(list.all[2].step, 10);
  EXPECT_TRUE(list.all[0].pinned && !list.all[1].pinned);
  EXPECT_EQ(list.all[1].best_rank, 1u);
  EXPECT_EQ(list.all[1].best_value, 0.25);
  EXPECT_TRUE(list.all[2].current && !list.all[1].current);
  std::uint64_t bytes = 0;
  for (const auto& file : std::filesystem::directory_iterator(dir_ / "model.ckpt-10")) bytes += file.file_size();
  EXPECT_EQ(list.all[2].bytes, bytes);
  EXPECT_EQ(list.all[2].saver, "safetensors");
  for (const ListedStored& c : list.all) EXPECT_EQ(c.problem, "");
}

TEST_F(StoredTensorsTest, TheListSaysWhyOneCannotBeRestored) {
  for (const std::int64_t step : {1, 2, 3, 4}) save(step);
  write_file(dir_ / "model.ckpt-1/index", "garbage");
  std::filesystem::remove(dir_ / "model.ckpt-2/state");
  write_file(dir_ / "model.ckpt-3/model.safetensors", "short");
  write_file(dir_ / "model.ckpt-5", "a file");
  const StoredList list = list_stored(files_, dir_.path(), log_);
  ASSERT_EQ(list.all.size(), 5u);
  EXPECT_THAT(list.all[0].problem, HasSubstr("before its checksum"));
  EXPECT_EQ(list.all[1].problem, "[B4018] state is missing");
  EXPECT_THAT(list.all[2].problem, HasSubstr("model.safetensors has 5 bytes, but the index records"));
  EXPECT_EQ(list.all[3].problem, "");
  EXPECT_EQ(list.all[4].problem, "[B4018] it is no directory");
}

TEST_F(StoredTensorsTest, FilesOfOthersAreListedBesideThem) {
  save(1);
  write_file(dir_ / "tf-7.index", "12345");
  write_file(dir_ / "tf-7.data-00000-of-00001", "1234567890");
  write_file(dir_ / "weights.npz", "123");
  write_file(dir_ / "book.index", "nothing of the kind");
  const StoredList list = list_stored(files_, dir_.path(), log_);
  ASSERT_EQ(list.all.size(), 3u);
  EXPECT_EQ(list.all[1].name, "tf-7");
  EXPECT_EQ(list.all[1].bytes, 15u);
  EXPECT_EQ(list.all[1].saver, "tf_bundle");
  EXPECT_FALSE(list.all[1].is_checkpoint);
  EXPECT_EQ(list.all[2].name, "weights.npz");
  EXPECT_EQ(list.all[2].step, std::nullopt);
  EXPECT_EQ(list_stored(files_, dir_ / "tf-7", log_).all.at(0).step, 7);
  EXPECT_EQ(list_stored(files_, dir_ / "model.ckpt-1", log_).all.at(0).step, 1);
  EXPECT_TRUE(list_stored(files_, dir_ / "model.ckpt-1", log_).all.at(0).current);
}

TEST_F(StoredTensorsTest, ShardsOfAModelHaveNoStepAndTheirIndexHasTheirBytes) {
  write_file(dir_ / "model.safetensors.index.json", "12345");
  write_file(dir_ / "model-00001-of-00002.safetensors", "1234567890");
  write_file(dir_ / "model-00002-of-00002.safetensors", "123");
  write_file(dir_ / "models.safetensors", "1");
  const StoredList list = list_stored(files_, dir_.path(), log_);
  ASSERT_EQ(list.all.size(), 4u);
  EXPECT_EQ(list.all[0].name, "model-00001-of-00002.safetensors");
  EXPECT_EQ(list.all[0].step, std::nullopt);
  EXPECT_EQ(list.all[0].bytes, 10u);
  EXPECT_EQ(list.all[2].name, "model.safetensors.index.json");
  EXPECT_EQ(list.all[2].bytes, 18u);
}

// ---- verify_stored ----

class VerifyTest : public StoredTensorsTest {
 protected:
  // "model.ckpt-1 whole 3 tensors", "model.ckpt-2 damaged ..."
  std::vector<std::string> verify(const std::string& path = "") {
    std::vector<std::string> lines;
    VerifyOptions options;
    options.saver = [&](const std::string& name) { return name == "safetensors" ? &use_ : nullptr; };
    options.report = [&](const VerifiedStored& v) {
      std::string name = v.path.substr(dir_.path().size());
      if (name.starts_with("/")) name.erase(0, 1);
      lines.push_back(name + (v.problem.empty() ? " whole " + std::to_string(v.tensors) + " tensors" : " damaged") +
                      (v.unread.empty() ? "" : "; " + v.unread));
      problems_[name] = v.problem;
    };
    verify_stored(files_, path.empty() ? dir_.path() : dir_ / path, options, log_);
    return lines;
  }
  std::map<std::string, std::string> problems_;
};

TEST_F(VerifyTest, ATreeIsWalked) {
  save(1), save(2);
  const auto inner = run_->make_directory("other");
  save(3, inner.get());
  std::filesystem::copy(dir_ / "model.ckpt-1/model.safetensors", dir_ / "other/x.safetensors");
  std::filesystem::copy(dir_ / "model.ckpt-1", dir_ / "other/copy", std::filesystem::copy_options::recursive);
  run_->make_directory("model.ckpt-9.tmp-0123456789abcdef");
  std::filesystem::create_directory_symlink(dir_ / "other", dir_ / "link");
  EXPECT_THAT(verify(),
              ElementsAre("model.ckpt-1 whole 3 tensors", "model.ckpt-2 whole 3 tensors", "other/copy whole 3 tensors",
                          "other/model.ckpt-3 whole 3 tensors", "other/x.safetensors whole 3 tensors"));
  EXPECT_THAT(verify("model.ckpt-2"), ElementsAre("model.ckpt-2 whole 3 tensors"));
  EXPECT_THAT(verify("other/x.safetensors"), ElementsAre("other/x.safetensors whole 3 tensors"));
}

TEST_F(VerifyTest, EveryKindOfDamageIsFoundAndTheOthersAreStillLookedAt) {
  for (const std::int64_t step : {1, 2, 3, 4, 5}) save(step);
  flip_last_byte("model.ckpt-1/model.safetensors");
  flip_last_byte("model.ckpt-2/state.data");
  std::filesystem::remove(dir_ / "model.ckpt-3/index");
  std::filesystem::rename(dir_ / "model.ckpt-4", dir_ / "model.ckpt-40");
  write_file(dir_ / "broken.safetensors", std::string(20, 'x'));
  write_file(dir_ / "checkpoint", "model_checkpoint_path: \"model.ckpt-99\"");
  EXPECT_THAT(verify(), ElementsAre("checkpoint damaged", "broken.safetensors damaged", "model.ckpt-1 damaged",
                                    "model.ckpt-2 damaged", "model.ckpt-3 damaged", "model.ckpt-40 damaged",
                                    "model.ckpt-5 whole 3 tensors"));
  EXPECT_THAT(problems_["model.ckpt-1"], HasSubstr("model.safetensors has the CRC32C"));
  EXPECT_THAT(problems_["model.ckpt-2"], HasSubstr("state.data has the CRC32C"));
  EXPECT_THAT(problems_["model.ckpt-3"], HasSubstr("[B4018] index is missing"));
  EXPECT_THAT(problems_["model.ckpt-40"], HasSubstr("[B4020] its index is of step 4"));
  EXPECT_THAT(problems_["checkpoint"], HasSubstr("it names 'model.ckpt-99', which is not there"));
}

TEST_F(VerifyTest, WithoutTheSaverTheChecksumsAreStillLookedAt) {
  ScriptedSaver other;
  other.write = [](Directory& d, TensorSource&) {
    File f = d.create("data");
    f.write("x", 1);
    f.close();
  };
  write_checkpoint(*run_, StepContent(1).content(), other.use(), log_);
  EXPECT_THAT(verify(), ElementsAre("model.ckpt-1 whole 0 tensors; there is no saver 'scripted' to read its tensors"));
  flip_last_byte("model.ckpt-1/data");
  EXPECT_THAT(verify(), ElementsAre("model.ckpt-1 damaged"));
}

TEST_F(VerifyTest, AnEmptyTreeHoldsNothing) {
  EXPECT_THAT(verify(), IsEmpty());
  EXPECT_EQ(error_of([&] { verify("none"); }), "NOT_FOUND: [B4025] there is no '" + (dir_ / "none") + "'");
}

}  // namespace
}  // namespace belay::runtime
