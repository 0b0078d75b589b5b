// SPDX-License-Identifier: Apache-2.0
#include <belay/plugin.h>

#include <bit>
#include <cstdint>
#include <optional>
#include <string>

namespace {

class StopAfterNEvals final : public belay::Hook {
 public:
  struct Options {
    std::optional<std::int64_t> num_evals;
    bool log_progress = true;
  };
  static constexpr auto about =
      belay::about("stop_after_n_evals", "Stops an evaluation after a number of batches, and logs its progress",
                   belay::option("num_evals", &Options::num_evals,
                                 "number of batches; if not set, the evaluation continues until the input ends")
                       .min(1)
                       .watching(),
                   belay::option("log_progress", &Options::log_progress,
                                 "true: writes a log line after each batch, or fewer lines if there are many batches")
                       .watching());

  explicit StopAfterNEvals(const Options& o) : num_evals_(o.num_evals), log_progress_(o.log_progress) {
    constexpr std::int64_t kFew = 20, kLines = 10;
    if (num_evals_ && *num_evals_ >= kFew) log_every_ = *num_evals_ / kLines;
  }

  void after_create_session(belay::Session&) override { evals_ = 0; }

  // Each run is a batch. The run in which the input ends fails and does not reach this function.
  void after_run(belay::RunContext& run, const belay::RunValues&) override {
    ++evals_;
    const bool last = num_evals_ && evals_ >= *num_evals_;
    if (log_progress_ && (last || is_due())) host().info("Evaluation [" + progress() + "]");
    if (last) run.request_stop(progress() + " batches are evaluated");
  }

 private:
  bool is_due() const {
    return num_evals_ ? evals_ % log_every_ == 0 : std::has_single_bit(static_cast<std::uint64_t>(evals_));
  }
  std::string progress() const {
    return std::to_string(evals_) + (num_evals_ ? "/" + std::to_string(*num_evals_) : "");
  }

  const std::optional<std::int64_t> num_evals_;
  const bool log_progress_;
  std::int64_t log_every_ = 1;
  std::int64_t evals_ = 0;
};

}  // namespace

BELAY_MODULE("1.0.0", StopAfterNEvals)
