// SPDX-License-Identifier: Apache-2.0
// The state that is restored from a run's directory, and the messages about a checkpoint that another program or
// machine wrote.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "runtime/checkpoint/read/restore_error.h"
#include "runtime/monitored/saving/run_saver.h"
#include "tests/monitored/run_saver_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(Savers, SAVER_01_RestoreVariablesAndHookStates) {
  Probe& a = add_probe("a");
  add_probe("stateless");
  a.state = 11;
  save(*make_saver(), 4.0f, 9);
  const auto saver = make_saver();
  const auto later = open_session();
  const std::optional<RestoredRun> restored = saver->restore_latest(*later, run.path());
  ASSERT_TRUE(restored);
  EXPECT_EQ(restored->path, run.path() + "/model.ckpt-9");
  EXPECT_EQ(restored->state.global_step, 9);
  ASSERT_EQ(restored->state.hook_states.size(), 1u);
  EXPECT_EQ(std::get<std::int64_t>(restored->state.hook_states.at("a").entries.at("state")), 11);
  EXPECT_EQ(weight_of(*later), 4.0f);
  EXPECT_EQ(later->global_step(), 9);
  EXPECT_EQ(saver->saved_step(), 9);
  EXPECT_EQ(saver->saved_path(), run.path() + "/model.ckpt-9");
  EXPECT_TRUE(logged("restored step 9 from " + run.path() + "/model.ckpt-9"));
}

// A session asks for a save when it begins: of what was just restored that would write the same again.
TEST_F(Savers, WhatWasJustRestoredIsNotWrittenAgain) {
  Probe& a = add_probe("a");
  a.state = 11;
  save(*make_saver(), 4.0f, 9);
  const std::string index = run.path() + "/model.ckpt-9/index";
  const auto written = [&] {
    struct stat status {};
    EXPECT_EQ(::stat(index.c_str(), &status), 0);
    return status.st_ino;
  };
  const auto before = written();
  const auto saver = make_saver();
  const auto later = open_session();
  ASSERT_TRUE(saver->restore_latest(*later, run.path()));
  a.state = 12;  // hooks have clocks in their states
  new_events();
  saver->request();
  saver->at_boundary(*later, hooks);
  EXPECT_EQ(written(), before);
  EXPECT_THAT(new_events(), ElementsAre("a.before_save 9", "a.after_save 9"));
  EXPECT_EQ(saver->saved_path(), run.path() + "/model.ckpt-9");
  // Whatever is written to a variable is another state, of the same step too.
  later->store().assign("weight", Tensor(5.0f));
  saver->request();
  saver->at_boundary(*later, hooks);
  EXPECT_NE(written(), before);
}

// The hooks are told at once, since nothing is written: what one of them throws is its own error, and not the save's.
TEST_F(Savers, T_140_AHookThatFailsAfterASaveOfWhatWasJustRestoredIsNamed) {
  for (const SaveMode how : {SaveMode::kSync, SaveMode::kAsync}) {
    mode = how;
    hooks = HookSet();
    Probe& a = add_probe("a");
    a.in.clear();
    const auto first = make_saver();
    save(*first, 4.0f, 9);
    first->finish(*session, hooks);
    const auto saver = make_saver();
    const auto later = open_session();
    ASSERT_TRUE(saver->restore_latest(*later, run.path()));
    a.in["after_save"] = [] { fail(Code::kAborted, "the server is away"); };
    saver->request();
    EXPECT_EQ(error_of([&] { saver->at_boundary(*later, hooks); }),
              "ABORTED: hook \"a\" in after_save: the server is away");
    EXPECT_EQ(saver->save_error(), "") << "the checkpoint is there";
    // It is over: the next boundary has nothing to tell.
    a.in.clear();
    EXPECT_EQ(saver->at_boundary(*later, hooks), "");
  }
}

TEST_F(Savers, WhatWasRestoredIsWrittenAgainWhereTheCheckpointHasNotAllOfIt) {
  save(*make_saver(), 4.0f, 9);
  const std::string index = run.path() + "/model.ckpt-9/index";
  const auto at_start = [&](const std::shared_ptr<RunSaver>& saver) {
    struct stat before {
    }, after{};
    EXPECT_EQ(::stat(index.c_str(), &before), 0);
    const auto later = open_session();
    EXPECT_TRUE(saver->restore_latest(*later, run.path()));
    saver->request();
    saver->at_boundary(*later, hooks);
    EXPECT_EQ(::stat(index.c_str(), &after), 0);
    return before.st_ino != after.st_ino;
  };
  EXPECT_FALSE(at_start(make_saver()));
  add_probe("new").state = 1;
  EXPECT_TRUE(at_start(make_saver())) << "a hook that it knows nothing of";
  EXPECT_FALSE(at_start(make_saver()));
  // The state file names another one: it was damaged, and this one is the newest from now on.
  save(*make_saver(), 5.0f, 12);
  std::filesystem::resize_file(run.path() + "/model.ckpt-12/index", 20);
  EXPECT_TRUE(at_start(make_saver()));
  EXPECT_FALSE(at_start(make_saver()));
}

TEST_F(Savers, RestoreTheInputsPositions) {
  *session->store().position_slot("train") = Position{3, 250};
  save(*make_saver(), 1.0f, 1);
  const auto later = open_session();
  *later->store().position_slot("train") = Position{0, 7};
  make_saver()->restore_latest(*later, run.path());
  EXPECT_EQ(later->store().positions().at("train").epoch, 3);
  EXPECT_EQ(later->store().positions().at("train").index, 250);
}

TEST_F(Savers, FindNothingToRestoreInAnEmptyOrMissingDirectory) {
  const auto saver = make_saver();
  EXPECT_FALSE(saver->restore_latest(*session, run.path()));
  EXPECT_FALSE(saver->restore_latest(*session, temp / "missing"));
}

TEST_F(Savers, SAVER_35_ACheckpointOfAnotherModelIsNotRestored) {
  save(*make_saver(), 4.0f, 9);
  NodeGraph wider(*ops);
  ops::variable(wider.handle(), "weight", Tensor(Dims{2}, {1.0f, 2.0f}));
  ops::create_global_step(wider.handle());
  wider.finalize();
  DirectSession other(wider, std::make_shared<VariableStore>(), environment.session);
  const auto saver = make_saver();
  try {
    saver->restore_latest(other, run.path());
    FAIL() << "restored";
  } catch (const RestoreError& e) {
    EXPECT_THAT(e.what(), HasSubstr("weight  float32 [2] in the graph, [] in the checkpoint"));
  }
}

// Its files are as they were written, so their checksums are right.
TEST_F(Savers, ACheckpointThatItsSaverCannotReadIsPassedOverLikeADamagedOne) {
  RunSaverOptions options;
  options.saver = make_saver()->options().saver;
  const SaverUse real = saver_use(*codec);
  int broken = 0;  // not while the first one is read back
  options.saver.read = [&](belay_dir* directory, belay_tensors* tensors) {
    if (broken-- > 0) fail(Code::kDataLoss, "it ends early");
    real.read(directory, tensors);
  };
  const auto saver = make_saver(options);
  for (const int step : {1, 2}) save(*saver, 0.5f * static_cast<float>(step), step);
  set(0, 0);
  broken = 1;
  const std::optional<RestoredRun> restored = saver->restore_latest(*session, run.path());
  ASSERT_TRUE(restored);
  EXPECT_EQ(restored->state.global_step, 1);
  EXPECT_EQ(saver->saved_step(), 1);
  EXPECT_EQ(weight_of(*session), 0.5f);
  EXPECT_TRUE(logged("a checkpoint is damaged and stays where it is: '" + run.path() + "/model.ckpt-2': "));
  EXPECT_TRUE(logged("it ends early"));
  EXPECT_TRUE(logged("going back to model.ckpt-1"));
  broken = 2;
  try {
    saver->restore_latest(*session, run.path());
    ADD_FAILURE() << "there is none left";
  } catch (const RestoreError& e) {
    EXPECT_THAT(e.what(), HasSubstr("holds checkpoints, but none can be restored"));
  }
}

// Their bytes are in the variables' memory by then.
TEST_F(Savers, DamageThatShowsWhileVariablesAreReadLeavesTheSessionWithout) {
  const auto saver = make_saver();
  for (const int step : {1, 2}) save(*saver, 0.5f * static_cast<float>(step), step);
  saver->settle();
  const auto damage = [&](int step) {
    const std::string path = run.path() + "/model.ckpt-" + std::to_string(step) + "/model.safetensors";
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-1, std::ios::end);
    file.put('\x7f');
  };
  damage(2);
  const auto later = open_session();
  const std::optional<RestoredRun> restored = saver->restore_latest(*later, run.path());
  ASSERT_TRUE(restored);
  EXPECT_EQ(restored->state.global_step, 1);
  EXPECT_EQ(weight_of(*later), 0.5f);
  EXPECT_TRUE(logged("model.ckpt-2': model.safetensors has the CRC32C "));
  EXPECT_TRUE(logged("going back to model.ckpt-1"));
  damage(1);
  const auto last = open_session();
  EXPECT_THROW(saver->restore_latest(*last, run.path()), RestoreError);
  for (const Variable* v : last->variables()) EXPECT_FALSE(v->initialized) << v->name;
}

TEST_F(Savers, AnotherFingerprintIsAWarning) {
  RunSaverOptions options;
  options.fingerprint = {.threads = 1, .isa = "avx2", .binary = "abc", .seed = 42};
  save(*make_saver(options), 1.0f, 1);
  make_saver(options)->restore_latest(*session, run.path());
  EXPECT_FALSE(logged("warning"));
  options.fingerprint = {.threads = 4, .isa = "avx512", .binary = "def", .seed = 43, .precision = "bf16"};
  make_saver(options)->restore_latest(*session, run.path());
  EXPECT_TRUE(
      logged("the run may not end with the same bits as one that was never stopped: threads was 1, is 4; seed was "
             "42, is 43; instruction set was avx2, is avx512; binary was abc, is def; precision was float32, is "
             "bf16"));
}

TEST_F(Savers, T_41c_ACheckpointFromBeforeDenormalsWereFlushedIsAWarning) {
  save(*make_saver({}), 1.0f, 1);
  RunSaverOptions options;
  options.fingerprint.onednn = "2.6.3 avx2";  // older ones do not have theirs
  options.fingerprint.plugins = {{"model:mlp", "0c"}};
  options.fingerprint.floating_point = "denormals flushed";
  options.fingerprint.c_library = "glibc 2.36";
  make_saver(options)->restore_latest(*session, run.path());
  EXPECT_TRUE(logged("was never stopped: floating point was denormals kept, is denormals flushed"));
}

TEST_F(Savers, T_51_AnotherOneDnnOrCLibraryAndPluginsThatWereBuiltAnewAreAWarning) {
  RunSaverOptions options;
  options.fingerprint.onednn = "2.6.3 avx2";
  options.fingerprint.c_library = "glibc 2.36";
  options.fingerprint.plugins = {{"hook:gone", "1"}, {"input:csv", "2"}, {"model:mlp", "3"}, {"op:mish", "4"}};
  save(*make_saver(options), 1.0f, 1);
  options.fingerprint.onednn = "2.6.3 avx512_core";
  options.fingerprint.c_library = "glibc 2.41";
  options.fingerprint.plugins = {{"hook:new", "9"}, {"input:csv", "2"}, {"model:mlp", "a"}, {"op:mish", "b"}};
  make_saver(options)->restore_latest(*session, run.path());
  EXPECT_TRUE(
      logged("was never stopped: oneDNN was 2.6.3 avx2, is 2.6.3 avx512_core; C library was glibc 2.36, is glibc "
             "2.41; built anew since: model:mlp, op:mish"));
}

}  // namespace
}  // namespace belay::runtime::testing
