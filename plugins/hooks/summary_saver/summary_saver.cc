// SPDX-License-Identifier: Apache-2.0
#include <belay/plugin.h>
#include <belay/summary_ops.h>

#include <cstdint>
#include <optional>
#include <utility>

#include "../training_scalars.h"

namespace {

class SummarySaver final : public belay::Hook {
 public:
  struct Options {
    std::optional<std::int64_t> save_steps;
    std::optional<double> save_secs;
    belay::List<belay::Str> summaries;
    std::int64_t max_steps = 0;
    bool last_loss = false;
  };
  static constexpr auto about = belay::about(
      "summary_saver", "Writes the graph's summaries to the event file, on the first run and regularly after it",
      belay::option("save_steps", &Options::save_steps, "period of the writes, in steps; 100 if no period is set")
          .min(1)
          .watching(),
      belay::option("save_secs", &Options::save_secs,
                    "period of the writes, in seconds; if both periods are set, the one that ends first counts")
          .min(0.001)
          .watching(),
      belay::option("summaries", &Options::summaries,
                    "names of the summary operations to write; if empty, that of the scaffold, which is all summaries "
                    "of the graph by default")
          .watching(),
      belay::option("max_steps", &Options::max_steps,
                    "last step of the run, which is always written; 0 means not known")
          .min(0)
          .watching(),
      belay::option("last_loss", &Options::last_loss,
                    "true: fetches the loss in each run, and writes the loss of the last step whatever ends the run")
          .watching());

  explicit SummarySaver(const Options& o)
      : timer_(o.save_secs, o.save_steps || o.save_secs ? o.save_steps : std::int64_t{100}),
        summaries_(o.summaries),
        max_steps_(o.max_steps),
        wants_last_loss_(o.last_loss) {}

  void begin(belay::Graph& graph) override {
    step_ = belay::GlobalStep(graph);
    summaries_.begin(graph);
    loss_ = wants_last_loss_ ? graph.find_if_exists("loss") : belay::Output();
    if (loss_ && !is_scalar_number(loss_)) loss_ = belay::Output();
    if (loss_) graph.fetch(loss_);
  }

  void after_create_session(belay::Session& session) override {
    summaries_.session_created(session, host());
    const std::int64_t step = step_.read(session);
    step_.forget();
    next_step_ = step + 1;
    if (timer_.last_triggered_step().value_or(step) > step) timer_.reset();  // from steps that are made again
    belay::Events(host()).session_start(next_step_);
    watches_loss_ = loss_ && !summaries_.ops().empty();
    unwritten_loss_.reset();
  }

  belay::RunArgs before_run(belay::RunContext&) override {
    belay::RunArgs args{step_.fetch()};
    const bool triggers = timer_.should_trigger_for_step(next_step_, host());
    only_last_ = !triggers && next_step_ == max_steps_;
    due_ = !summaries_.ops().empty() && (triggers || only_last_);
    if (due_)
      for (const belay::SummaryOps::Op& summary : summaries_.ops()) args.fetch(summary);
    if (watches_loss_ && !due_) args.fetch(loss_);
    return args;
  }

  void after_run(belay::RunContext& run, const belay::RunValues& values) override {
    std::int64_t step = step_.predicted(values);
    if (due_) {
      step = step_.read(run.session());
      // If a run continues after its last step, it writes as if that step had been like the others.
      if (!only_last_) timer_.update_last_triggered_step(step, host().monotonic());
      for (const belay::SummaryOps::Op& summary : summaries_.ops())
        belay::Events(host()).summary(values[summary], step);
      unwritten_loss_.reset();
    } else if (watches_loss_) {
      unwritten_loss_ = Loss{step, values[loss_].number(0)};
    }
    next_step_ = step + step_.steps_per_run();
  }

  void end(belay::Session& session) override {
    const belay::Events events(host());
    if (unwritten_loss_) events.scalar("loss", step_.read(session), unwritten_loss_->value);
    events.flush();
  }
  // If a step ended the run, a user looks for its loss first: whether it was NaN, and since when.
  void on_error(const belay::Error&) override {
    if (const auto loss = std::exchange(unwritten_loss_, std::nullopt))
      belay::Events(host()).scalar("loss", loss->step, loss->value);
  }

  void save_state(belay::StateWriter& state) const override { timer_.save(state, host().monotonic()); }
  void load_state(const belay::StateReader& state) override { timer_.load(state, host().monotonic()); }

 private:
  belay::SecondOrStepTimer timer_;
  belay::GlobalStep step_;
  belay::SummaryOps summaries_;
  std::int64_t next_step_ = 0;  // the step that the coming run probably reaches
  const std::int64_t max_steps_;
  const bool wants_last_loss_;
  belay::Output loss_;  // empty: it is not wanted, or there is none
  bool watches_loss_ = false;
  struct Loss {
    std::int64_t step;
    double value;
  };
  std::optional<Loss> unwritten_loss_;  // the loss of the last step, if that was not due
  bool due_ = false;
  bool only_last_ = false;  // true: only the last step makes this run due
};

}  // namespace

BELAY_MODULE("1.0.0", SummarySaver)
