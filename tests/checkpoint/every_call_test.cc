// SPDX-License-Identifier: Apache-2.0
// Each call of the file system fails in turn, with each error of a disk, once and from then on, while a checkpoint is
// saved, removed, converted, pinned and restored. The error names the call and its path, what was whole stays so, and
// the next start finds it and leaves no litter.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "runtime/checkpoint/directory/remove_checkpoint.h"
#include "runtime/checkpoint/directory/run_lock.h"
#include "runtime/checkpoint/stored/convert_stored.h"
#include "runtime/checkpoint/write/pinned.h"
#include "tests/checkpoint/next_start.h"
#include "tests/platform/faulty_file_system.h"
#include "tests/platform/memory_disk.h"

extern "C" const belay_module belay_module_tf_bundle;

namespace belay::runtime {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::HasSubstr;

class EveryCall : public ::testing::Test {
 protected:
  EveryCall() {
    const auto run = disk_.make_directories("/run");
    disk_.make_directories("/out");
    CheckpointSeries series(disk_, *run, clock_, log_, {.max_to_keep = 2});
    for (const std::int64_t step : {10, 20}) series.save(StepContent(step).content(), saver_.use());
  }
  // One trial: the file system that is to fail, and `arm`, from which on it does.
  struct Trial {
    FaultyFileSystem& files;
    OpenDirectory& run;
    std::function<void()> arm;
  };
  struct After {
    MemoryDisk& disk;
    const std::string& outcome;  // empty: it succeeded
  };
  // How many trials failed.
  int fail_every_call(const std::function<void(Trial)>& operate, const std::function<void(After)>& check) {
    int trials = 0, failed = 0;
    for (const DiskError& error : kDiskErrors)
      for (const HowOften how_often : {HowOften::kOnce, HowOften::kForEver})
        for (int nth = 1;; ++nth, ++trials) {
          SCOPED_TRACE("call " + std::to_string(nth) + ": " + error.words +
                       (how_often == HowOften::kOnce ? "" : ", and all after it"));
          MemoryDisk disk(disk_);
          FaultyFileSystem files(disk);
          log_.lines.clear();
          const auto run = files.open_directory("/run");
          const auto arm = [&] {
            files.forget_calls();
            files.fail_any(nth, error, how_often);
          };
          const std::string outcome = error_of([&] { operate({files, *run, arm}); });
          const bool done = std::ssize(files.calls()) < nth;
          files.heal();
          if (!outcome.empty()) {
            ++failed;
            EXPECT_THAT(outcome, HasSubstr(error.words));
            EXPECT_THAT(outcome, AnyOf(HasSubstr("'/run"), HasSubstr("'/out")));
          }
          check({disk, outcome});
          if (HasFailure()) return failed;
          if (!done) continue;
          EXPECT_EQ(outcome, "");
          break;
        }
    std::printf("%d trials, %d of them failed as they should\n", trials, failed);
    return failed;
  }
  // The next start continues from this step, if nothing is wrong there.
  std::int64_t restored(MemoryDisk& disk) {
    const NextStart next = next_start(disk, "/run", saver_.use(), clock_);
    EXPECT_EQ(next.wrong, "");
    return next.step;
  }
  void expect_whole(MemoryDisk& disk, std::int64_t step) {
    const auto reader = CheckpointReader::open(disk.open_directory("/run/" + checkpoint_name(step)));
    EXPECT_EQ(StepContent(step).difference(*reader, saver_.use()), "");
  }
  CheckpointSeries resumed(Trial& t, int max_to_keep) {
    CheckpointSeries series(t.files, t.run, clock_, log_, {.max_to_keep = max_to_keep});
    series.recover();
    series.restored("model.ckpt-20");
    return series;
  }
  // And a hidden directory only if a warning names it.
  void expect_in_out(MemoryDisk& disk, const std::vector<std::string>& wanted) {
    std::vector<std::string> found = disk.open_directory("/out")->entries();
    std::erase_if(found, [&](const std::string& name) {
      if (!name.starts_with('.')) return false;
      EXPECT_THAT(log_.lines, Contains(AllOf(HasSubstr("cannot clean up"), HasSubstr("'/out/" + name))));
      return true;
    });
    EXPECT_EQ(found, wanted);
  }
  StoredCopy copy_of_20() {
    const auto reader = CheckpointReader::open(disk_.open_directory("/run/model.ckpt-20"));
    return read_copy(*reader, saver_.use(), reader.get(), [](const std::string&) { return true; });
  }

  MemoryDisk disk_;
  FakeClock clock_;
  RecordingLogger log_;
  SafetensorsSaver saver_;
};

// F4, F7, F8, F9, F16
TEST_F(EveryCall, OfASave) {
  fail_every_call(
      [&](Trial t) {
        CheckpointSeries series = resumed(t, 5);
        const StepContent content(30);
        t.arm();
        series.save(content.content(), saver_.use());
      },
      [&](After a) {
        expect_whole(a.disk, 10), expect_whole(a.disk, 20);
        if (!a.outcome.empty()) {
          EXPECT_THAT(a.outcome, AnyOf(HasSubstr("need "), HasSubstr("dmesg"), HasSubstr("who may write")));
        }
        const std::int64_t step = restored(a.disk);
        EXPECT_TRUE(step == 30 || (step == 20 && !a.outcome.empty())) << step;
      });
}

TEST_F(EveryCall, OfASecondSaveOfAStep) {
  fail_every_call(
      [&](Trial t) {
        CheckpointSeries series = resumed(t, 5);
        const StepContent content(20);
        t.arm();
        series.save(content.content(), saver_.use());
      },
      [&](After a) {
        expect_whole(a.disk, 10);
        EXPECT_EQ(restored(a.disk), 20);
      });
}

TEST_F(EveryCall, OfRetentionIsAWarningAtMost) {
  int warned = 0;
  fail_every_call(
      [&](Trial t) {
        CheckpointSeries series = resumed(t, 1);
        t.arm();
        series.retain();
        for (const std::string& line : log_.lines) {
          ++warned;
          EXPECT_THAT(line, HasSubstr("warning checkpoint: "));
          EXPECT_THAT(line, HasSubstr("'/run"));
        }
      },
      [&](After a) {
        expect_whole(a.disk, 20);
        EXPECT_EQ(restored(a.disk), 20);
      });
  EXPECT_GT(warned, 0);
}

TEST_F(EveryCall, OfAConversionIntoACheckpoint) {
  const StoredCopy copy = copy_of_20();
  fail_every_call(
      [&](Trial t) {
        t.arm();
        write_copy(t.files, copy, "/out/copy", saver_.use(), clock_, log_);
      },
      [&](After a) {
        if (!a.disk.exists("/out/copy")) write_copy(a.disk, copy, "/out/copy", saver_.use(), clock_, log_);
        const auto made = CheckpointReader::open(a.disk.open_directory("/out/copy"));
        EXPECT_EQ(StepContent(20).difference(*made, saver_.use()), "");
        expect_in_out(a.disk, {"copy"});
        EXPECT_EQ(restored(a.disk), 20);
      });
}

TEST_F(EveryCall, OfAConversionIntoFilesThatBelongTogether) {
  const StoredCopy copy = copy_of_20();
  const LinkedSaver bundle(belay_module_tf_bundle, "tf_bundle");
  fail_every_call(
      [&](Trial t) {
        t.arm();
        write_copy(t.files, copy, "/out/tf.index", bundle.use(), clock_, log_);
      },
      [&](After a) {
        if (!a.disk.exists("/out/tf.index")) {
          // A part that could not be taken back is a warning that names it.
          const auto out = a.disk.open_directory("/out");
          if (out->exists("tf.data-00000-of-00001")) {
            EXPECT_THAT(log_.lines, Contains(HasSubstr("'/out/tf.data-00000-of-00001'")));
            out->remove("tf.data-00000-of-00001");
          }
          write_copy(a.disk, copy, "/out/tf.index", bundle.use(), clock_, log_);
        }
        const auto made = open_stored_tensors(a.disk, "/out/tf.index", bundle.use(), log_);
        EXPECT_EQ(made->tensors().size(), 3u);
        expect_in_out(a.disk, {"tf.data-00000-of-00001", "tf.index"});
      });
}

TEST_F(EveryCall, OfARemovalByHand) {
  for (const std::int64_t step : {10, 20})
    fail_every_call(
        [&](Trial t) {
          t.arm();
          remove_and_forget(t.run, checkpoint_name(step), log_);
        },
        [&](After a) {
          const std::int64_t other = 30 - step, found = restored(a.disk);
          EXPECT_TRUE(found == other || found == 20) << found;
        });
}

TEST_F(EveryCall, OfAPinAndItsEnd) {
  fail_every_call(
      [&](Trial t) {
        const auto checkpoint = t.run.open_directory("model.ckpt-20");
        t.arm();
        pin(*checkpoint);
        unpin(*checkpoint);
      },
      [&](After a) {
        expect_whole(a.disk, 20);
        EXPECT_EQ(restored(a.disk), 20);
      });
}

// If no checkpoint can be read, that is an error, and never a run from step 0.
TEST_F(EveryCall, OfAResume) {
  const auto run = disk_.open_directory("/run");
  run->make_directory("model.ckpt-30.tmp-0123456789abcdef")->create("index");
  run->rename("model.ckpt-10", "model.ckpt-10.old-0123456789abcdef");
  fail_every_call(
      [&](Trial t) {
        t.arm();
        const RunLock lock = RunLock::take(t.run, clock_);
        remove_leftovers(t.run, log_);
        CheckpointSeries series(t.files, t.run, clock_, log_, {.max_to_keep = 2});
        series.recover();
        const auto reader = find_restorable(t.run, log_);
        ASSERT_NE(reader, nullptr);
        EXPECT_EQ(StepContent(reader->state().global_step).difference(*reader, saver_.use()), "");
      },
      [&](After a) { EXPECT_EQ(restored(a.disk), 20); });
}

}  // namespace
}  // namespace belay::runtime
