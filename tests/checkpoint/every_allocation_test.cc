// SPDX-License-Identifier: Apache-2.0
// F38: each allocation of 512 bytes and more fails in turn, once and from then on, while a checkpoint is saved and
// restored. It is an error and ends nothing, what was whole stays so, and the next start finds it. Smaller ones do not
// fail here: the JSON library allocates in destructors, which ends the process where there is nothing left at all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <new>
#include <string>

#include "runtime/checkpoint/directory/checkpoint_series.h"
#include "runtime/checkpoint/directory/leftovers.h"
#include "runtime/checkpoint/directory/run_lock.h"
#include "runtime/checkpoint/format/names.h"
#include "runtime/checkpoint/read/find_restorable.h"
#include "tests/checkpoint/checkpoint_fixture.h"

namespace {

enum class Fails { kOnce, kFromThenOn };

constexpr std::size_t kSmallest = 512;

// The allocations of this thread that succeed before one fails.
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
thread_local std::int64_t allocations_left = kNever;
thread_local Fails fails = Fails::kOnce;

// Null where it is its turn, or there is no memory.
void* allocate(std::size_t size) noexcept {
  if (size >= kSmallest && allocations_left != kNever && --allocations_left < 0) {
    allocations_left = fails == Fails::kOnce ? kNever : 0;
    return nullptr;
  }
  return std::malloc(size == 0 ? 1 : size);
}

}  // namespace

// In place of the library's, for this program. Not inlined: g++ 12 would take a new and a delete of which it sees one
// only for a mismatch.
__attribute__((noinline)) void* operator new(std::size_t size) {
  void* memory = allocate(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
__attribute__((noinline)) void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return allocate(size);
}
__attribute__((noinline)) void operator delete(void* memory) noexcept { std::free(memory); }
__attribute__((noinline)) void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace belay::runtime {
namespace {

namespace fs = std::filesystem;

class EveryAllocation : public ::testing::Test {
 protected:
  EveryAllocation() {
    const auto run = files_.make_directories(whole_);
    CheckpointSeries series(files_, *run, clock_, log_, {.max_to_keep = 2});
    for (const std::int64_t step : {10, 20}) series.save(StepContent(step, kElements).content(), saver_.use());
  }
  // `operate` gets the run directory, and calls what it is given where failing may begin.
  using Operate = std::function<void(OpenDirectory& run, const std::function<void()>& arm)>;

  void fail_every_allocation(const Operate& operate, const std::function<void(bool failed)>& check) {
    int trials = 0, failed = 0;
    for (const Fails how : {Fails::kOnce, Fails::kFromThenOn})
      for (std::int64_t nth = 0;; ++nth, ++trials) {
        SCOPED_TRACE("allocation " + std::to_string(nth) + (how == Fails::kOnce ? "" : ", and all after it"));
        fs::remove_all(run_);
        fs::copy(whole_, run_, fs::copy_options::recursive);
        const auto run = files_.open_directory(run_);
        fails = how;
        bool threw = false;
        try {
          operate(*run, [&] { allocations_left = nth; });
        } catch (const std::exception&) {
          threw = true;
        }
        const bool done = allocations_left > 0 && allocations_left != kNever;
        allocations_left = kNever;
        failed += threw ? 1 : 0;
        check(threw);
        if (HasFailure()) return;
        if (!done) continue;
        EXPECT_FALSE(threw);
        break;
      }
    std::printf("%d trials, %d of them failed as they should\n", trials, failed);
    EXPECT_GT(failed, 0);
  }
  // The next start continues from this step. Its checkpoint is whole, and the start saves the next one after it.
  std::int64_t restored() {
    const auto run = files_.open_directory(run_);
    remove_leftovers(*run, log_);
    CheckpointSeries series = resumed(*run, 2);
    const auto found = find_restorable(*run, log_);
    const std::int64_t step = found->state().global_step;
    EXPECT_EQ(StepContent(step, kElements).difference(*found, saver_.use()), "");
    series.save(StepContent(step + 1, kElements).content(), saver_.use());
    series.retain();
    expect_whole(step + 1);
    return step;
  }
  void expect_whole(std::int64_t step) {
    const auto reader = CheckpointReader::open(files_.open_directory(run_ + "/" + checkpoint_name(step)));
    EXPECT_EQ(StepContent(step, kElements).difference(*reader, saver_.use()), "");
  }
  CheckpointSeries resumed(OpenDirectory& run, int max_to_keep) {
    CheckpointSeries series(files_, run, clock_, log_, {.max_to_keep = max_to_keep});
    series.recover();
    series.restored("model.ckpt-20");
    return series;
  }

  static constexpr std::size_t kElements = 30'000;
  TempDir dir_;
  const std::string whole_ = dir_ / "whole", run_ = dir_ / "run";
  FileSystem& files_ = posix_file_system();
  FakeClock clock_;
  RecordingLogger log_;
  SafetensorsSaver saver_;
};

TEST_F(EveryAllocation, OfASave) {
  fail_every_allocation(
      [&](OpenDirectory& run, const auto& arm) {
        CheckpointSeries series = resumed(run, 5);
        const StepContent content(30, kElements);
        arm();
        series.save(content.content(), saver_.use());
      },
      [&](bool failed) {
        expect_whole(10), expect_whole(20);
        const std::int64_t step = restored();
        EXPECT_TRUE(step == 30 || (step == 20 && failed)) << step;
      });
}

// If no checkpoint can be read, that is an error, and never a run from step 0.
TEST_F(EveryAllocation, OfAResume) {
  fail_every_allocation(
      [&](OpenDirectory& run, const auto& arm) {
        arm();
        const RunLock lock = RunLock::take(run, clock_);
        remove_leftovers(run, log_);
        CheckpointSeries series(files_, run, clock_, log_, {.max_to_keep = 2});
        series.recover();
        const auto reader = find_restorable(run, log_);
        ASSERT_NE(reader, nullptr);
        EXPECT_EQ(StepContent(20, kElements).difference(*reader, saver_.use()), "");
      },
      [&](bool) { EXPECT_EQ(restored(), 20); });
}

}  // namespace
}  // namespace belay::runtime
