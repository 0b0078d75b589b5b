// SPDX-License-Identifier: Apache-2.0
#include <belay/plugin.h>
#include <belay/summary_ops.h>

namespace {

class SummaryAtEnd final : public belay::Hook {
 public:
  struct Options {
    belay::List<belay::Str> summaries;
  };
  static constexpr auto about =
      belay::about("summary_at_end", "Writes the graph's summaries to the event file when the session ends",
                   belay::option("summaries", &Options::summaries,
                                 "names of the summary operations to write; if empty, that of the scaffold, which is "
                                 "all summaries of the graph by default")
                       .watching());

  explicit SummaryAtEnd(const Options& o) : summaries_(o.summaries) {}

  void begin(belay::Graph& graph) override {
    step_ = belay::GlobalStep(graph);
    summaries_.begin(graph);
  }
  void after_create_session(belay::Session& session) override { summaries_.session_created(session, host()); }

  void end(belay::Session& session) override {
    if (summaries_.ops().empty()) return;
    const std::int64_t step = step_.read(session);
    const belay::RunResult result = session.run({summaries_.ops().begin(), summaries_.ops().end()});
    const belay::Events events(host());
    for (const belay::SummaryOps::Op& summary : summaries_.ops()) events.summary(result[summary], step);
    events.flush();
  }

 private:
  belay::GlobalStep step_;
  belay::SummaryOps summaries_;
};

}  // namespace

BELAY_MODULE("1.0.0", SummaryAtEnd)
