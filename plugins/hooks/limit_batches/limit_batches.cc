// SPDX-License-Identifier: Apache-2.0
#include <belay/plugin.h>

#include <cstdint>
#include <string>

namespace {

class LimitBatches final : public belay::Hook {
 public:
  struct Options {
    std::int64_t batches = 0;
    bool count_earlier_attempts = false;
  };
  static constexpr auto about =
      belay::about("limit_batches", "Stops the run after a number of batches, to test whether the whole run works",
                   belay::option("batches", &Options::batches,
                                 "runs of the session before the run stops, whatever they add to the global step")
                       .required()
                       .min(1)
                       .example(5)
                       .watching(),
                   belay::option("count_earlier_attempts", &Options::count_earlier_attempts,
                                 "true: the batches of earlier attempts count; false: each attempt has the full number")
                       .watching());

  explicit LimitBatches(const Options& o) : o_(o) {}

  void after_create_session(belay::Session& session) override {
    if (made_ >= o_.batches) session.coordinator().request_stop(reason());
  }
  void after_run(belay::RunContext& run, const belay::RunValues&) override {
    if (++made_ >= o_.batches) run.request_stop(reason());
  }

  void save_state(belay::StateWriter& state) const override {
    if (o_.count_earlier_attempts) state.put("batches", made_);
  }
  // If each attempt counts alone, a recovery inside an attempt continues its count.
  void load_state(const belay::StateReader& state) override {
    if (o_.count_earlier_attempts) made_ = state.integer("batches");
  }

 private:
  std::string reason() const {
    return std::to_string(made_) + (made_ == 1 ? " batch is" : " batches are") +
           " trained (batches = " + std::to_string(o_.batches) + ")";
  }

  const Options o_;
  std::int64_t made_ = 0;
};

}  // namespace

BELAY_MODULE("1.0.0", LimitBatches)
