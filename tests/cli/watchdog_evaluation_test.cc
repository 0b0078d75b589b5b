// SPDX-License-Identifier: Apache-2.0
// The watchdog beside a training that evaluates between two steps: what hangs there is named, and what is slow is not.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <future>

#include "runtime/cli/watch/watchdog.h"
#include "runtime/estimator/run/prepare.h"
#include "runtime/estimator/run/train.h"
#include "runtime/manifest/parse.h"
#include "tests/platform/temp_dir.h"

namespace belay::runtime {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr int kLimit = 100;  // seconds
constexpr int kBatches = 5;

// Jumps to the time that its one waiter waits for, as often as the test asks; then the waiter stays there.
class ClockOfLooks final : public Clock {
 public:
  std::int64_t monotonic_ns() const override { return now_ns_; }
  std::int64_t wall_ns() const override { return now_ns_; }
  void wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable& changed,
                  std::int64_t deadline_ns) override {
    {
      const std::lock_guard own(mutex_);
      if (looks_ == 0) {
        waiter_ = {lock.mutex(), &changed};
        stands_.notify_all();
      } else {
        --looks_;
        now_ns_ = deadline_ns;
        return;
      }
    }
    changed.wait(lock);
  }
  // Returns once the waiter stays there.
  void await_waiter() {
    std::unique_lock own(mutex_);
    stands_.wait(own, [&] { return waiter_.first != nullptr; });
  }
  // Lets it continue this many times.
  void allow(int looks) {
    await_waiter();
    const auto [mutex, changed] = waiter_;
    const std::lock_guard waits(*mutex);  // so it is in its wait by now
    const std::lock_guard own(mutex_);
    looks_ = looks;
    waiter_ = {};
    changed->notify_all();
  }

 private:
  std::atomic<std::int64_t> now_ns_{0};
  std::mutex mutex_;
  std::condition_variable stands_;
  std::pair<std::mutex*, std::condition_variable*> waiter_;
  int looks_ = 0;
};

// The test's side of a gate of tests/cli/plugins/paced.cc.
class GateEnds {
 public:
  explicit GateEnds(const std::string& name) : waits_(make(name + ".waits")), goes_(make(name + ".goes")) {}
  ~GateEnds() {
    ::close(waits_);
    ::close(goes_);
  }
  GateEnds(const GateEnds&) = delete;
  GateEnds& operator=(const GateEnds&) = delete;

  void await() const {
    char byte = 0;
    ASSERT_EQ(::read(waits_, &byte, 1), 1);
  }
  void open(int times = 1) const {
    const std::string bytes(static_cast<std::size_t>(times), 'x');
    ASSERT_EQ(::write(goes_, bytes.data(), bytes.size()), times);
  }

 private:
  static int make(const std::string& path) {
    if (::mkfifo(path.c_str(), 0600) != 0) return -1;
    return ::open(path.c_str(), O_RDWR);
  }
  const int waits_;
  const int goes_;
};

// A training of four steps, with an evaluation of five batches after the second and the fourth. The run's own clock is
// the system's; the watchdog's moves when the test moves it.
class WatchedEvaluation : public ::testing::Test {
 protected:
  // `of_input`, `of_model`: lines of [input.eval] and [model].
  void start(const std::string& of_input, const std::string& of_model) {
    const std::string path = temp_ / "train.toml";
    std::ofstream(path) << "[run]\nmax_steps = 4\nthreads = 1\n[input.train]\nplugin = \"paced\"\n[input.eval]\n"
                           "plugin = \"paced\"\nprefetch = 1\nbatches = "
                        << kBatches << "\n"
                        << of_input << "[model]\nplugin = \"paced_model\"\n"
                        << of_model << "[eval]\nevery_steps = 2\nat_start = false\n";
    const Environment environment = [](const std::string& name) -> std::optional<std::string> {
      if (name == "BELAY_PLUGIN_PATH") return BELAY_BINARY_DIR "/plugins:" BELAY_BINARY_DIR "/tests/cli/plugins";
      return std::nullopt;
    };
    Diagnostics problems;
    std::optional<Manifest> manifest = parse_manifest(path, {}, environment, problems);
    ASSERT_TRUE(manifest) << problems.text();
    run_ =
        std::make_unique<PreparedRun>(std::move(*manifest), PreparedRunOptions{},
                                      Platform{system_clock(), *run_log_, posix_file_system()}, environment, control_);
    const auto stage = [](RunPart, const std::function<void()>& f) { return f(), RunStatus::kDone; };
    prepare(*run_, problems, Preparation::kGraph, {.stage = stage});
    ASSERT_TRUE(problems.empty()) << problems.text();
    watchdog_.emplace(WatchdogOptions{kLimit, [this] { return run_->activity(); }, &control_.disk(),
                                      [this] { gave_up_.set_value(); }},
                      *log_, clock_);
    clock_.await_waiter();  // before the first step
    trained_ = std::async(std::launch::async, [this] { return train(*run_, [this] { progress(); }); });
  }
  void progress() {
    watchdog_->progress();
    const std::lock_guard lock(mutex_);
    ++progress_;
    progressed_.notify_all();
  }
  // Returns once there were so many steps and batches.
  void await_progress(int count) {
    std::unique_lock lock(mutex_);
    progressed_.wait(lock, [&] { return progress_ >= count; });
  }
  // The watchdog looks once a second.
  void pass(int seconds) {
    clock_.allow(seconds);
    clock_.await_waiter();
  }
  // Until the watchdog gives up; its first look still sees the steps.
  void hang() {
    clock_.allow(1 + kLimit);
    gave_up_.get_future().wait();
  }
  void end() {
    EXPECT_EQ(trained_.get().steps, 4);
    watchdog_.reset();
  }
  // Two lines of a run that hangs in `what`. The input of the training reads ahead, so it may be named after it.
  static auto named(const std::string& what) {
    const auto line = [&](const std::string& begin, const std::string& end) {
      return AllOf(StartsWith(begin + ", in " + what + "; "), EndsWith(end));
    };
    return ElementsAre(line("warning no progress for 50 s", "; the run ends after 100 s (no_progress_secs)"),
                       line("error[B5017]: no progress for 100 s",
                            "; the stacks of all threads follow, then the run ends with status 124"));
  }
  std::string gate(const std::string& name) const { return "gate = \"" + (temp_ / name) + "\"\n"; }
  static LogOutput to(std::function<void(std::string_view)> keep) {
    LogOutput output;
    output.write = [keep = std::move(keep)](std::string_view text) {
      keep(text);
      return true;
    };
    return output;
  }

  TempDir temp_;
  ClockOfLooks clock_;
  std::vector<std::string> lines_;
  std::unique_ptr<Logger> run_log_ =
      make_logger(to([](std::string_view) {}), LogFormat::kText, LogLevel::kInfo, clock_);
  std::unique_ptr<Logger> log_ = make_logger(to([this](std::string_view text) {
                                               // no date, no time, no \n
                                               const std::size_t time = text.find(' ') + 1;
                                               lines_.emplace_back(text.substr(text.find(' ', time) + 1));
                                               lines_.back().pop_back();
                                             }),
                                             LogFormat::kText, LogLevel::kInfo, clock_);
  RunControl control_;
  std::unique_ptr<PreparedRun> run_;
  std::promise<void> gave_up_;
  std::optional<Watchdog> watchdog_;
  std::mutex mutex_;
  std::condition_variable progressed_;
  int progress_ = 0;
  std::future<TrainingResult> trained_;  // the first that goes: it waits
};

TEST_F(WatchedEvaluation, AnInputThatHangsIsNamedWithTheEvaluation) {
  const GateEnds gate(temp_ / "input");
  start(this->gate("input"), "");
  gate.await();
  await_progress(2);  // both steps are done
  hang();
  EXPECT_THAT(lines_, named("the evaluation of step 2 on [input.eval]: input \"eval\" of \"paced\" (paced.so 1.0.0, "
                            "train.toml:6) in next at step 2"));
  gate.open(2 * kBatches);
  end();
}

TEST_F(WatchedEvaluation, AnOperationOfTheModelThatHangsIsNamedWithTheEvaluation) {
  const GateEnds gate(temp_ / "model");
  start("", this->gate("model"));
  gate.await();
  hang();
  EXPECT_THAT(lines_,
              named("the evaluation of step 2 on [input.eval]: op \"paced_copy\" (paced.so 1.0.0) in run at step 2"));
  gate.open(2 * kBatches);
  end();
}

// Five batches of 40 s: twice the limit.
TEST_F(WatchedEvaluation, ASlowOneThatComesFromBatchToBatchIsNone) {
  const GateEnds gate(temp_ / "input");
  start(this->gate("input"), "");
  for (int batch = 0; batch < kBatches; ++batch) {
    gate.await();
    await_progress(2 + batch);
    pass(40);
    gate.open();
  }
  EXPECT_THAT(lines_, IsEmpty());
  gate.open(kBatches);
  end();
}

}  // namespace
}  // namespace belay::runtime
