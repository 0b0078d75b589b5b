// SPDX-License-Identifier: Apache-2.0
#include <belay/plugin.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace {

// Returns the step in a checkpoint's name: "runs/a/model.ckpt-100" is 100.
std::optional<std::int64_t> step_of(std::string_view path) {
  const std::size_t dash = path.rfind('-');
  if (dash == std::string_view::npos) return std::nullopt;
  std::int64_t step = 0;
  const char* end = path.data() + path.size();
  const auto [rest, error] = std::from_chars(path.data() + dash + 1, end, step);
  return error == std::errc() && rest == end ? std::optional(step) : std::nullopt;
}

class StopAtCheckpointStep final : public belay::Hook {
 public:
  struct Options {
    belay::Path directory;
    std::int64_t last_step = 0;
    double check_secs = 30;
  };
  static constexpr auto about = belay::about(
      "stop_at_checkpoint_step",
      "Stops a process that does not save once the newest checkpoint of a directory has reached a step",
      belay::option("directory", &Options::directory, "directory in which the saving process writes its checkpoints")
          .required()
          .example("runs/trainer")
          .watching(),
      belay::option("last_step", &Options::last_step,
                    "the run stops when the newest checkpoint is of this step or a later one")
          .required()
          .min(1)
          .example(1000)
          .watching(),
      belay::option("check_secs", &Options::check_secs, "period of the checks of the directory, in seconds")
          .min(0.001)
          .watching());

  explicit StopAtCheckpointStep(const Options& o)
      : directory_(o.directory),
        last_step_(o.last_step),
        pause_(std::chrono::nanoseconds(static_cast<std::int64_t>(std::min(o.check_secs, kLongestSecs) * 1e9))) {}

  void begin(belay::Graph& graph) override {
    if (graph.global_step_if_exists()) step_.emplace(graph);
  }

  void after_create_session(belay::Session& session) override {
    if (step_) step_->forget();
    if (reached()) session.coordinator().request_stop(reason());
  }

  belay::RunArgs before_run(belay::RunContext&) override {
    if (step_) return {step_->fetch()};
    return {};
  }

  void after_run(belay::RunContext& run, const belay::RunValues& values) override {
    // If training is done and only its checkpoint is missing, this waits instead of making further steps.
    const bool done = step_ && step_->predicted(values) >= last_step_;
    if (!done && host().monotonic() < next_look_) return;
    bool found = reached();
    if (done && !found) {
      run.session().coordinator().wait_for_stop(pause_);
      found = reached();
    }
    if (found) run.request_stop(reason());
  }

 private:
  static constexpr double kLongestSecs = 1e9;  // thirty years; a longer time does not fit into nanoseconds
  bool reached() {
    next_look_ = host().monotonic() + pause_;
    newest_ = belay::latest_checkpoint(host(), directory_);
    const std::optional<std::int64_t> step = step_of(newest_);
    return step && *step >= last_step_;
  }
  std::string reason() const {
    return "the newest checkpoint is '" + newest_ + "' (last_step = " + std::to_string(last_step_) + ")";
  }

  const std::string directory_;
  const std::int64_t last_step_;
  const std::chrono::nanoseconds pause_;
  std::optional<belay::GlobalStep> step_;
  std::chrono::nanoseconds next_look_{};
  std::string newest_;
};

}  // namespace

BELAY_MODULE("1.0.0", StopAtCheckpointStep)
