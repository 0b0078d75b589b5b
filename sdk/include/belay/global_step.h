// SPDX-License-Identifier: Apache-2.0
// The global step, for hooks that act at certain steps.
//
// A run fetches the step before or after its update; that depends on the model. So such a hook first uses the step that
// the run has probably reached. If that step matters, it reads the real step and decides on it:
//
//   void begin(Graph& g) override { step_ = GlobalStep(g); }
//   RunArgs before_run(RunContext&) override { return {step_.fetch()}; }
//   void after_run(RunContext& run, const RunValues& values) override {
//     if (!due(step_.predicted(values))) return;                  // every run: no more than a comparison
//     const std::int64_t step = step_.read(run.session());        // a raw run
//     if (due(step)) act(step);
//   }
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "belay/session.h"

namespace belay {
inline namespace v0 {

// The global step of a graph; a member of a hook, [session].
class GlobalStep {
 public:
  // Makes an empty object; assign one of a graph to it in begin.
  GlobalStep() = default;
  // Looks up the step. FAILED_PRECONDITION: the graph has no global step.
  explicit GlobalStep(const Graph& graph) : fetch_(graph.global_step()) {}

  // The fetch to add in every run.
  const Fetch<std::int64_t>& fetch() const noexcept { return fetch_; }
  // Returns the current value by a raw run.
  std::int64_t read(const Session& session) const { return session.value(fetch_); }

  // Returns the step that this run has probably reached: the fetched step plus the advance of one run. The advance is 1
  // until two runs have shown another. Call it once per run.
  std::int64_t predicted(const RunValues& values) {
    const std::int64_t fetched = values[fetch_];
    if (seen_) steps_per_run_ = std::max<std::int64_t>(1, fetched - last_fetched_);
    stalled_ = seen_ && fetched == last_fetched_;
    seen_ = true;
    last_fetched_ = fetched;
    return fetched + steps_per_run_;
  }
  // True if the last two runs fetched the same step, so no run advances it.
  bool stalled() const noexcept { return stalled_; }
  std::int64_t last_fetched() const noexcept { return last_fetched_; }
  std::int64_t steps_per_run() const noexcept { return steps_per_run_; }
  // Forgets the last run, for a new session: its first run does not follow the last one seen.
  void forget() noexcept { seen_ = stalled_ = false; }

 private:
  Fetch<std::int64_t> fetch_;
  std::int64_t last_fetched_ = 0;
  std::int64_t steps_per_run_ = 1;
  bool seen_ = false;
  bool stalled_ = false;
};

}  // namespace v0
}  // namespace belay
