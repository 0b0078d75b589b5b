// SPDX-License-Identifier: Apache-2.0
// A hook that calls the other ranks, and asks to stop on one of them. RANKED_DIES=RANK:CALL ends that rank's process
// there (SIGKILL). It is in the environment, because the same run continues after that.
#include <belay/plugin.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <string>

namespace {

class Ranked final : public belay::Hook {
 public:
  struct Options {
    belay::Str callback = "after_run";
    std::int64_t stop_rank = -1;
    std::int64_t stop_step = 0;
    bool freezes = false;
  };
  static constexpr auto about = belay::about(
      "ranked", "Calls the other ranks",
      belay::option("callback", &Options::callback, "from where").choices("after_run", "before_run", "none"),
      belay::option("stop_rank", &Options::stop_rank, "which of them asks to stop"),
      belay::option("stop_step", &Options::stop_step, "and from which of its steps on"),
      belay::option("freezes", &Options::freezes, "its process is stopped instead, by SIGSTOP"));
  explicit Ranked(const Options& o)
      : callback_(o.callback.string()), stop_rank_(o.stop_rank), stop_step_(o.stop_step), freezes_(o.freezes) {}

  void after_create_session(belay::Session&) override {
    if (callback_ == "after_run") host().info("the ranks add up to " + std::to_string(sum()));
  }
  belay::RunArgs before_run(belay::RunContext&) override {
    if (callback_ == "before_run") sum();
    return {};
  }
  void after_run(belay::RunContext& run, const belay::RunValues&) override {
    if (callback_ == "after_run") total_ += sum();
    ++steps_;
    if (const char* dies = std::getenv("RANKED_DIES");
        dies != nullptr && dies == std::to_string(host().rank()) + ":" + std::to_string(steps_))
      std::raise(SIGKILL);
    if (steps_ < stop_step_ || host().rank() != stop_rank_) return;
    if (freezes_) std::raise(SIGSTOP);
    run.request_stop("its rank asks");
  }
  void end(belay::Session&) override {
    if (callback_ != "after_run") return;
    const belay::ClusterPlace place = belay::Ranks(host()).place();
    host().info("in " + std::to_string(steps_) + " steps " + std::to_string(total_) + ", at the end " +
                std::to_string(sum()) + "; rank " + std::to_string(place.rank) + " of " + std::to_string(place.size) +
                ", on its machine " + std::to_string(place.local_rank) + ", in generation " +
                std::to_string(place.generation));
  }

 private:
  // Counts only the ranks from 1 on.
  std::int64_t sum() const {
    belay::Tensor value(std::int64_t{host().rank() + 1});
    belay::Ranks(host()).all_reduce(value);
    return value.data<std::int64_t>()[0];
  }

  const std::string callback_;
  const std::int64_t stop_rank_, stop_step_;
  const bool freezes_;
  std::int64_t steps_ = 0, total_ = 0;
};

}  // namespace

BELAY_MODULE("1.0.0", Ranked)
