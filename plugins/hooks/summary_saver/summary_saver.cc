// SPDX-License-Identifier: Apache-2.0
#include <belay/plugin.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace {

using belay::Code;

class SummarySaver final : public belay::Hook {
 public:
  struct Options {
    std::optional<std::int64_t> save_steps;
    std::optional<double> save_secs;
    belay::List<belay::Str> summaries;
  };
  static constexpr auto about = belay::about(
      "summary_saver", "Writes the graph's summaries to the event file, on the first run and regularly after it",
      belay::option("save_steps", &Options::save_steps, "write every so many steps; without any period: 100").min(1),
      belay::option("save_secs", &Options::save_secs, "write every so many seconds; with both, whichever comes first")
          .min(0.001),
      belay::option(
          "summaries", &Options::summaries,
          "names of the summary operations to write; none: that of the scaffold, all summaries of the graph"));

  explicit SummarySaver(const Options& o)
      : timer_(o.save_secs, o.save_steps || o.save_secs ? o.save_steps : std::int64_t{100}) {
    for (const belay::Str& name : o.summaries) names_.emplace_back(name);
  }

  void begin(belay::Graph& graph) override {
    step_ = belay::GlobalStep(graph);
    named_.clear();
    for (const std::string& name : names_) named_.push_back(graph.fetch<std::string_view>(name));
  }

  // The scaffold's operation is looked up here: it may be made after the hooks' begin.
  void after_create_session(belay::Session& session) override {
    summaries_ = names_.empty() ? find_summary(session.graph()) : named_;
    if (host().run_directory().empty()) summaries_.clear();
    const std::int64_t step = step_.read(session);
    step_.forget();
    next_step_ = step + 1;
    if (timer_.last_triggered_step().value_or(step) > step) timer_.reset();  // from steps that are done again
    belay::Events(host()).session_start(next_step_);
  }

  belay::RunArgs before_run(belay::RunContext&) override {
    belay::RunArgs args{step_.fetch()};
    due_ = !summaries_.empty() && timer_.should_trigger_for_step(next_step_, host());
    if (due_)
      for (const Summary& summary : summaries_) args.fetch(summary);
    return args;
  }

  void after_run(belay::RunContext& run, const belay::RunValues& values) override {
    std::int64_t step = step_.predicted(values);
    if (due_) {
      step = step_.read(run.session());
      timer_.update_last_triggered_step(step, host().monotonic());
      for (const Summary& summary : summaries_) belay::Events(host()).summary(values[summary], step);
    }
    next_step_ = step + step_.steps_per_run();
  }

  void end(belay::Session&) override { belay::Events(host()).flush(); }

  void save_state(belay::StateWriter& state) const override { timer_.save(state, host().monotonic()); }
  void load_state(const belay::StateReader& state) override { timer_.load(state, host().monotonic()); }

 private:
  using Summary = belay::Fetch<std::string_view>;

  static std::vector<Summary> find_summary(const belay::Graph& graph) {
    const auto found = graph.collection(belay::collections::kSummaryOp);
    if (found.empty()) return {};
    if (found.size() > 1)
      belay::fail(Code::kFailedPrecondition, "the collection 'summary_op' has " + std::to_string(found.size()) +
                                                 " items, summary_saver writes one: merge them");
    if (found[0].dtype() != belay::DType::kString)
      belay::fail(Code::kInvalidArgument, "the summary operation " + found[0].text() + " gives no string");
    return {Summary(found[0])};
  }

  belay::SecondOrStepTimer timer_;
  belay::GlobalStep step_;
  std::vector<std::string> names_;
  std::vector<Summary> named_;      // the same in this graph
  std::vector<Summary> summaries_;  // to write; empty: none
  std::int64_t next_step_ = 0;      // that the coming run probably reaches
  bool due_ = false;
};

}  // namespace

BELAY_MODULE("1.0.0", SummarySaver)
