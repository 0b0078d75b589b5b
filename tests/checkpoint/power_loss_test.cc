// SPDX-License-Identifier: Apache-2.0
// Power is lost after every change of the disk while checkpoints are saved, removed, pinned and converted. Changes that
// were not synced are lost or come in any order. BELAY_POWER_LOSSES: how often each moment is tried with other orders
// (3).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <vector>

#include "runtime/checkpoint/directory/remove_checkpoint.h"
#include "runtime/checkpoint/read/best_checkpoints.h"
#include "runtime/checkpoint/stored/convert_stored.h"
#include "runtime/checkpoint/write/pinned.h"
#include "tests/checkpoint/next_start.h"
#include "tests/platform/memory_disk.h"

extern "C" const belay_module belay_module_npz;
extern "C" const belay_module belay_module_stdio_saver;
extern "C" const belay_module belay_module_tf_bundle;

namespace belay::runtime {
namespace {

struct PowerLossCase {
  const belay_module* module;
  const char* name;
};

class PowerLoss : public ::testing::TestWithParam<PowerLossCase> {
 protected:
  PowerLoss() {
    series_.recover();
    save(10), save(20);
    announced_.clear();
    disk_.settle();
  }
  void save(std::int64_t step) {
    const StepContent content(step);
    series_.save(content.content(), saver_.use());
    announced_.push_back({disk_.changes(), step});
    series_.retain();
  }
  // The last step that was announced as saved when so many changes were made.
  std::int64_t announced(std::size_t at) const {
    std::int64_t step = 20;
    for (const auto& [changes, saved] : announced_)
      if (changes <= at) step = saved;
    return step;
  }
  // Each moment, each way to lose; `check` returns what is wrong.
  void lose_power_at_every_change(const std::function<std::string(MemoryDisk&, std::size_t at)>& check) {
    const char* times = std::getenv("BELAY_POWER_LOSSES");
    const int subsets = times == nullptr ? 3 : std::atoi(times);
    int tried = 0, flushes = 0;
    for (std::size_t at = 0; at <= disk_.changes(); ++at) {
      flushes += disk_.is_flush(at) ? 1 : 0;
      std::vector<Unsynced> ways = {Unsynced::kLost, Unsynced::kKept, Unsynced::kPrefix};
      ways.insert(ways.end(), static_cast<std::size_t>(subsets), Unsynced::kSubset);
      for (const Unsynced way : ways) {
        MemoryDisk left = disk_.after_power_loss(at, way, random_);
        ASSERT_EQ(check(left, at), "") << "behind change " << at << " of " << disk_.changes() << ", way "
                                       << static_cast<int>(way) << ", try " << tried;
        ++tried;
      }
    }
    std::printf("power was lost %d times, behind each of %zu changes, %d of them flushes\n", tried, disk_.changes(),
                flushes);
  }
  std::string start(MemoryDisk& left, std::int64_t at_least, std::int64_t at_most) {
    const NextStart next = next_start(left, "/run", saver_.use(), clock_);
    if (!next.wrong.empty()) return next.wrong;
    if (next.step >= at_least && next.step <= at_most) return "";
    return "restored " + std::to_string(next.step) + ", announced was " + std::to_string(at_least);
  }

  MemoryDisk disk_;
  const std::unique_ptr<OpenDirectory> run_ = disk_.make_directories("/run");
  FakeClock clock_;
  RecordingLogger log_;
  LinkedSaver saver_{*GetParam().module, GetParam().name};
  CheckpointSeries series_{disk_, *run_, clock_, log_, {.max_to_keep = 2}};
  std::vector<std::pair<std::size_t, std::int64_t>> announced_;
  std::mt19937 random_{17};
};

// F3: a second save of a step, a new one, and one whose retention removes that.
TEST_P(PowerLoss, WhileCheckpointsAreSavedAndRemovedLosesNothingThatWasAnnounced) {
  save(20), save(30), save(40);
  lose_power_at_every_change([&](MemoryDisk& left, std::size_t at) { return start(left, announced(at), 40); });
}

TEST_P(PowerLoss, WhileTheNextStartCleansUpLosesNothing) {
  // Behind a second save of step 20 that did not get to its end.
  save(20);
  MemoryDisk killed = disk_.after_power_loss(disk_.changes() / 2, Unsynced::kKept, random_);
  const auto run = killed.open_directory("/run");
  remove_leftovers(*run, log_);
  for (std::size_t at = 0; at <= killed.changes(); ++at)
    for (const Unsynced way : {Unsynced::kLost, Unsynced::kSubset, Unsynced::kSubset}) {
      MemoryDisk left = killed.after_power_loss(at, way, random_);
      ASSERT_EQ(start(left, 20, 20), "") << at;
    }
}

TEST_P(PowerLoss, WhileOneIsRemovedByHandLeavesTheOther) {
  for (const char* name : {"model.ckpt-10", "model.ckpt-20"}) {
    disk_.settle();
    remove_and_forget(*run_, name, log_);
    lose_power_at_every_change([&](MemoryDisk& left, std::size_t) { return start(left, 10, 20); });
    save(std::string_view(name) == "model.ckpt-10" ? 10 : 20);
    save(20);
  }
}

TEST_P(PowerLoss, BehindTheRemovalOfTheLastOneItIsGoneForGood) {
  remove_and_forget(*run_, "model.ckpt-20", log_);
  remove_and_forget(*run_, "model.ckpt-10", log_);
  for (const Unsynced way : {Unsynced::kLost, Unsynced::kSubset, Unsynced::kSubset, Unsynced::kSubset}) {
    MemoryDisk left = disk_.after_power_loss(disk_.changes(), way, random_);
    EXPECT_EQ(left.open_directory("/run")->entries(), std::vector<std::string>());
  }
}

TEST_P(PowerLoss, BehindAPinTheMarkIsThere) {
  const auto checkpoint = run_->open_directory("model.ckpt-20");
  pin(*checkpoint);
  const std::size_t pinned = disk_.changes();
  unpin(*checkpoint);
  lose_power_at_every_change([&](MemoryDisk& left, std::size_t at) -> std::string {
    const bool marked = is_pinned(*left.open_directory("/run"), "model.ckpt-20");
    if ((at == pinned && !marked) || (at == disk_.changes() && marked)) return "the mark is not what was asked for";
    return start(left, 20, 20);
  });
}

TEST_P(PowerLoss, WhileACopyIsMadeLeavesItWholeOrAbsent) {
  disk_.make_directories("/copies");
  disk_.settle();
  const auto reader = CheckpointReader::open(run_->open_directory("model.ckpt-20"));
  const StoredCopy copy = read_copy(*reader, saver_.use(), reader.get(), [](const std::string&) { return true; });
  write_copy(disk_, copy, "/copies/twenty", saver_.use(), clock_, log_);
  const std::size_t done = disk_.changes();
  lose_power_at_every_change([&](MemoryDisk& left, std::size_t at) -> std::string {
    if (left.exists("/copies/twenty")) {
      const auto made = CheckpointReader::open(left.open_directory("/copies/twenty"));
      if (const std::string d = StepContent(20).difference(*made, saver_.use()); !d.empty()) return d;
    } else {
      if (at == done) return "the copy is gone";
      write_copy(left, copy, "/copies/twenty", saver_.use(), clock_, log_);
      if (left.open_directory("/copies")->entries() != std::vector<std::string>{"twenty"}) return "litter";
    }
    return start(left, 20, 20);
  });
}

INSTANTIATE_TEST_SUITE_P(Each, PowerLoss,
                         ::testing::Values(PowerLossCase{&belay_module_safetensors, "safetensors"},
                                           PowerLossCase{&belay_module_tf_bundle, "tf_bundle"},
                                           PowerLossCase{&belay_module_npz, "npz"},
                                           PowerLossCase{&belay_module_stdio_saver, "stdio_saver"}),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace belay::runtime
