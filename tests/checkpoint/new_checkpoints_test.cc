// SPDX-License-Identifier: Apache-2.0
// Reading checkpoints by name, and waiting for new ones.
#include "runtime/checkpoint/directory/new_checkpoints.h"

#include <filesystem>
#include <thread>

#include "runtime/checkpoint/directory/checkpoint_series.h"
#include "tests/checkpoint/run_directory_fixture.h"

namespace belay::runtime {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Time passes where somebody waits, and nowhere else.
class JumpingClock final : public Clock {
 public:
  std::int64_t monotonic_ns() const override { return now_; }
  std::int64_t wall_ns() const override { return now_; }
  void wait_until(std::unique_lock<std::mutex>&, std::condition_variable&, std::int64_t deadline_ns) override {
    now_ = std::max(now_, deadline_ns);
    if (on_wait) on_wait();
  }
  double seconds() const { return static_cast<double>(now_) / 1e9; }
  std::function<void()> on_wait = nullptr;

 private:
  std::int64_t now_ = 0;
};

class NewCheckpointsTest : public RunDirectoryTest {
 protected:
  std::string save(std::int64_t step) { return series_.save(StepContent(step).content(), saver_.use()); }
  NewCheckpoints checkpoints(const NewCheckpointsOptions& options) {
    return NewCheckpoints(files_, jumping_, log_, dir_.path(), options);
  }
  std::string path(int step) const { return dir_ / ("model.ckpt-" + std::to_string(step)); }

  JumpingClock jumping_;
  CheckpointSettings settings_;
  CheckpointSeries series_{files_, *run_, clock_, log_, settings_};
};

TEST_F(NewCheckpointsTest, CKU_01_WhatIsNotThereIsAnErrorWithItsName) {
  EXPECT_EQ(error_of([&] { open_stored_tensors(files_, dir_ / "none", saver_.use(), log_); }),
            "NOT_FOUND: [B4025] there is no '" + (dir_ / "none") + "'");
  EXPECT_THAT(error_of([&] { open_stored_tensors(files_, dir_.path(), saver_.use(), log_); }),
              HasSubstr("is neither a checkpoint (it has no index) nor"));
  save(10);
  const auto stored = open_stored_tensors(files_, dir_.path(), saver_.use(), log_);
  Tensor value(0.f);
  EXPECT_THAT(error_of([&] {
                stored->read(saver_.use(), {{"dense/kernal", value.view()}});
              }),
              StartsWith("NOT_FOUND: [B4022] '" + path(10) +
                         "' has no tensor 'dense/kernal' (did you mean \"dense/kernel\"?)"));
}

TEST_F(NewCheckpointsTest, CKU_02_TheValuesOfANameAreTheSavedOnes) {
  save(10);
  Tensor bias(DType::kFloat64, {3});
  open_stored_tensors(files_, path(10), saver_.use(), log_)->read(saver_.use(), {{"dense/bias", bias.view()}});
  const double* x = TensorView(bias.view()).data<const double>();
  EXPECT_EQ(std::vector<double>(x, x + 3), (std::vector<double>{15, 0.25, -3}));
}

TEST_F(NewCheckpointsTest, CKU_03_TensorsAreListedByNameWithTheirShapes) {
  save(10);
  std::vector<std::string> listed;
  for (const TensorInfo& t : open_stored_tensors(files_, dir_.path(), saver_.use(), log_)->tensors())
    listed.push_back(t.name + " " + dims_text(t.dims));
  EXPECT_THAT(listed, ElementsAre("dense/bias [3]", "dense/kernel [15]", "global_step []"));
}

TEST_F(NewCheckpointsTest, CKU_10_AnEmptyDirectoryHasNoneAndOneCheckpointComesOnce) {
  auto none = checkpoints({.timeout_secs = 0.0});
  EXPECT_EQ(none.next(), std::nullopt);
  save(10);
  auto one = checkpoints({.timeout_secs = 0.0});
  EXPECT_EQ(one.next(), path(10));
  EXPECT_EQ(one.next(), std::nullopt);
  EXPECT_EQ(jumping_.seconds(), 0);
}

TEST_F(NewCheckpointsTest, CKU_11_OnTimeoutIsAskedUntilItEndsTheSequence) {
  int calls = 0;
  auto none = checkpoints({.timeout_secs = 0.1, .on_timeout = [&] { return ++calls == 4; }});
  EXPECT_EQ(none.next(), std::nullopt);
  EXPECT_EQ(calls, 4);
}

TEST_F(NewCheckpointsTest, CKU_12_ItGivesUpWhereTheNextLookWouldBeTooLate) {
  NewCheckpoints absent(files_, jumping_, log_, dir_ / "none", {.sleep_secs = 0.5, .timeout_secs = 1.0});
  EXPECT_EQ(absent.next(), std::nullopt);
  EXPECT_GT(jumping_.seconds(), 0.5);
  EXPECT_LT(jumping_.seconds(), 1.1);
}

TEST_F(NewCheckpointsTest, OneThatAppearsWhileItWaitsIsReturned) {
  save(10);
  auto all = checkpoints({.timeout_secs = 60.0});
  EXPECT_EQ(all.next(), path(10));
  jumping_.on_wait = [&] {
    if (jumping_.seconds() == 3) save(20);
  };
  EXPECT_EQ(all.next(), path(20));
  EXPECT_EQ(jumping_.seconds(), 3);
}

TEST_F(NewCheckpointsTest, WhatWasReplacedMeanwhileAndWhatIsKnownIsPassedOver) {
  save(10);
  auto all = checkpoints({.last = path(10), .timeout_secs = 0.0});
  EXPECT_EQ(all.next(), std::nullopt);
  save(20);
  save(30);
  EXPECT_EQ(all.next(), path(30));
}

TEST_F(NewCheckpointsTest, TwoAreTheIntervalApart) {
  save(10);
  auto all = checkpoints({.min_interval_secs = 60, .timeout_secs = 5.0});
  EXPECT_EQ(all.next(), path(10));
  save(20);
  EXPECT_EQ(all.next(), path(20));
  EXPECT_EQ(jumping_.seconds(), 60);
}

TEST_F(NewCheckpointsTest, ADamagedOneIsPassedOverWithAWarning) {
  save(10);
  save(20);
  std::filesystem::remove(path(20) + "/model.safetensors");
  auto all = checkpoints({.timeout_secs = 0.0});
  EXPECT_EQ(all.next(), path(10));
  EXPECT_THAT(log_.lines, Contains(HasSubstr("model.ckpt-20")));
}

TEST_F(NewCheckpointsTest, ARunThatHasFinishedHasItsLastOneAndNoMore) {
  save(10);
  auto all = checkpoints({.finished = [&] { return run_finished(files_, dir_.path()); }});
  EXPECT_EQ(all.next(), path(10));
  jumping_.on_wait = [&] {
    if (jumping_.seconds() != 3) return;
    save(20);
    run_->replace("finished", "at step 20\n");
  };
  EXPECT_EQ(all.next(), path(20));
  EXPECT_EQ(all.next(), std::nullopt);
  EXPECT_EQ(jumping_.seconds(), 3);
}

TEST_F(NewCheckpointsTest, KeepGoingIsAskedDuringEachWait) {
  bool going = true;
  save(10);
  auto all = checkpoints({.min_interval_secs = 600, .keep_going = [&] { return going; }});
  jumping_.on_wait = [&] { going = jumping_.seconds() < 5; };
  EXPECT_EQ(all.next(), path(10));
  EXPECT_EQ(all.next(), std::nullopt);
  EXPECT_LT(jumping_.seconds(), 10);
  EXPECT_FALSE(all.wait(1));
}

TEST_F(NewCheckpointsTest, StopEndsAWait) {
  NewCheckpoints none(files_, clock_, log_, dir_.path());
  std::thread stopper([&] {
    clock_.await_waiters(1);
    none.stop();
  });
  EXPECT_EQ(none.next(), std::nullopt);
  EXPECT_EQ(none.next(), std::nullopt);
  stopper.join();
}

}  // namespace
}  // namespace belay::runtime
