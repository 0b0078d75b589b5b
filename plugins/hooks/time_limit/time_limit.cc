// SPDX-License-Identifier: Apache-2.0
#include <belay/plugin.h>

#include <chrono>
#include <optional>
#include <string>

namespace {

using Seconds = std::chrono::duration<double>;

std::string seconds_text(double seconds) { return belay::rounded_text(seconds) + " s"; }

class TimeLimit final : public belay::Hook {
 public:
  struct Options {
    double seconds = 0;
    bool count_earlier_attempts = true;
  };
  static constexpr auto about =
      belay::about("time_limit", "Stops the run after a time of training, at the end of a step",
                   belay::option("seconds", &Options::seconds, "seconds of training and saving before the run stops")
                       .required()
                       .min(0.001)
                       .example(3600)
                       .watching(),
                   belay::option("count_earlier_attempts", &Options::count_earlier_attempts,
                                 "true: the time of earlier attempts counts; false: each attempt has the full time")
                       .watching());

  explicit TimeLimit(const Options& o) : o_(o) {}

  void after_create_session(belay::Session& session) override {
    if (!start_) start_ = host().monotonic();  // a recovery does not begin anew
    if (earlier_seconds_ >= o_.seconds) session.coordinator().request_stop(reason(earlier_seconds_));
  }
  void after_run(belay::RunContext& run, const belay::RunValues&) override {
    const double trained = seconds();
    if (trained >= o_.seconds) run.request_stop(reason(trained));
  }

  void save_state(belay::StateWriter& state) const override {
    if (o_.count_earlier_attempts) state.put("seconds", seconds());
  }
  void load_state(const belay::StateReader& state) override {
    // It is read once per process. A recovery goes back in steps, but their time was spent.
    if (!start_ && o_.count_earlier_attempts) earlier_seconds_ = state.number("seconds");
  }

 private:
  double seconds() const { return earlier_seconds_ + (start_ ? Seconds(host().monotonic() - *start_).count() : 0); }
  std::string reason(double trained) const {
    return "trained for " + seconds_text(trained) + " (seconds = " + seconds_text(o_.seconds) + ")";
  }

  const Options o_;
  std::optional<std::chrono::nanoseconds> start_;
  double earlier_seconds_ = 0;
};

}  // namespace

BELAY_MODULE("1.0.0", TimeLimit)
