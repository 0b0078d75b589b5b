// SPDX-License-Identifier: Apache-2.0
#include <belay/plugin.h>

#include <chrono>
#include <cstdint>
#include <string>

namespace {

using belay::Code;

class GlobalStepWaiter final : public belay::Hook {
 public:
  struct Options {
    std::int64_t wait_until_step = 0;
    double poll_secs = 0.5;
  };
  static constexpr auto about = belay::about(
      "global_step_waiter", "Delays the first run until the global step has reached a number",
      belay::option("wait_until_step", &Options::wait_until_step, "global step to wait for; 0 means no wait")
          .required()
          .example(0)
          .watching(),
      belay::option("poll_secs", &Options::poll_secs, "period of the checks, in seconds").min(0.001).watching());

  explicit GlobalStepWaiter(const Options& o)
      : wait_until_step_(o.wait_until_step),
        poll_(std::chrono::nanoseconds(static_cast<std::int64_t>(o.poll_secs * 1e9))) {}

  void begin(belay::Graph& graph) override {
    step_ = belay::GlobalStep(graph);
    waited_ = false;
  }

  belay::RunArgs before_run(belay::RunContext& run) override {
    if (!waited_) {
      if (wait_until_step_ > 0) wait(run.session());
      waited_ = true;
    }
    return {};
  }

 private:
  void wait(const belay::Session& session) const {
    constexpr std::int64_t kStepsPerLine = 1000;
    std::int64_t step = step_.read(session);
    std::int64_t logged = step;
    if (step < wait_until_step_) log(step);
    while (step < wait_until_step_) {
      // If the session is to end, the run must not happen. This error ends it like after the last step.
      if (session.coordinator().wait_for_stop(poll_))
        belay::fail(Code::kStop, "stopped while waiting for global step " + std::to_string(wait_until_step_));
      step = step_.read(session);
      if (step - logged < kStepsPerLine) continue;
      logged = step;
      log(step);
    }
  }
  void log(std::int64_t step) const {
    host().info("waiting for global step " + std::to_string(wait_until_step_) + " before the first run; it is " +
                std::to_string(step));
  }

  const std::int64_t wait_until_step_;
  const std::chrono::nanoseconds poll_;
  belay::GlobalStep step_;
  bool waited_ = false;
};

}  // namespace

BELAY_MODULE("1.0.0", GlobalStepWaiter)
