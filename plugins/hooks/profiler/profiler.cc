// SPDX-License-Identifier: Apache-2.0
#include <belay/output_file.h>
#include <belay/plugin.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "chrome_trace.h"

namespace {

using belay::Code;

class Profiler final : public belay::Hook {
 public:
  struct Options {
    std::optional<std::int64_t> save_steps;
    std::optional<double> save_secs;
    belay::Path output_dir;
    bool show_dataflow = true;
    bool show_memory = false;
    bool show_phases = true;
  };
  static constexpr auto about = belay::about(
      "profiler", "Traces a run regularly and writes it as a Chrome trace, timeline-STEP.json",
      belay::option("save_steps", &Options::save_steps, "period of the traces, in steps; the first run is not traced")
          .min(1)
          .watching()
          .example(100),
      belay::option("save_secs", &Options::save_secs,
                    "period of the traces, in seconds; if both periods are set, the one that ends first counts")
          .min(0.001)
          .watching(),
      belay::option("output_dir", &Options::output_dir, "directory of the files; if empty, the run directory")
          .watching(),
      belay::option("show_dataflow", &Options::show_dataflow,
                    "true: shows arrows from each node to the nodes that use its output")
          .watching(),
      belay::option("show_memory", &Options::show_memory,
                    "true: shows a counter of the bytes of the outputs that a later node needs")
          .watching(),
      belay::option("show_phases", &Options::show_phases,
                    "true: also shows the phases before and after the run, and the saves")
          .watching());

  explicit Profiler(const Options& o)
      : directory_(o.output_dir.empty() ? host().run_directory() : o.output_dir.string()),
        trace_{o.show_dataflow, o.show_memory, o.show_phases} {
    if (!o.save_secs && !o.save_steps)
      belay::fail(Code::kInvalidArgument, "give a period: 'save_secs', 'save_steps', or both");
    timer_ = belay::SecondOrStepTimer(o.save_secs, o.save_steps);
    if (directory_.empty())
      belay::fail(Code::kInvalidArgument, "the run has no directory: give 'output_dir', or run.dir in the manifest");
    if (mkdir(directory_.c_str(), 0777) != 0 && errno != EEXIST) fail_file(directory_, "cannot be made");
  }

  void begin(belay::Graph& graph) override { step_ = belay::GlobalStep(graph); }

  void after_create_session(belay::Session& session) override {
    const std::int64_t step = step_.read(session);
    step_.forget();
    ran_ = false;
    left_.reset();
    if (timer_.last_triggered_step().value_or(step) > step) timer_.reset();  // from steps that are made again
    next_step_ = step + 1;
  }

  belay::RunArgs before_run(belay::RunContext&) override {
    belay::RunArgs args{step_.fetch()};
    // A session's first run makes plans and kernels, so its trace is of no use. The periods of a new run begin there.
    due_ = ran_ && timer_.should_trigger_for_step(next_step_, host());
    if (due_) {
      entered_ = host().monotonic();
      belay::RunOptions options;
      options.trace_level = belay::RunOptions::Trace::kFull;
      args.options(options);
    }
    return args;
  }

  void after_run(belay::RunContext& run, const belay::RunValues& values) override {
    std::int64_t step = step_.predicted(values);
    ran_ = true;
    if (!timer_.last_triggered_step()) timer_.update_last_triggered_step(step_.last_fetched(), host().monotonic());
    if (due_) {
      step = step_.read(run.session());
      timer_.update_last_triggered_step(step, host().monotonic());
      save(run, step);
    }
    next_step_ = step + step_.steps_per_run();
    left_.reset();
    // Reads the clock only if the next run is traced.
    if (trace_.phases && timer_.should_trigger_for_step(next_step_, host())) left_ = host().monotonic();
  }

  void before_save(belay::Session&, std::int64_t) override { save_ = {host().monotonic(), std::nullopt}; }
  bool after_save(belay::Session&, const belay::Saved&) override {
    if (save_) save_->end = host().monotonic();
    return false;
  }

  void save_state(belay::StateWriter& state) const override { timer_.save(state, host().monotonic()); }
  void load_state(const belay::StateReader& state) override { timer_.load(state, host().monotonic()); }

 private:
  // The save of a checkpoint. A separate thread writes it while steps continue.
  struct Save {
    std::chrono::nanoseconds start;
    std::optional<std::chrono::nanoseconds> end;
  };

  // Returns the known spans between this hook's calls. The share of each other hook is not known.
  std::vector<TraceSpan> spans(const std::vector<belay::NodeStats>& nodes) const {
    std::vector<TraceSpan> spans;
    if (!trace_.phases || nodes.empty()) return spans;
    const std::chrono::nanoseconds now = host().monotonic();
    std::chrono::nanoseconds start = nodes[0].start, end = nodes[0].end;
    for (const belay::NodeStats& node : nodes) start = std::min(start, node.start), end = std::max(end, node.end);
    if (left_) spans.push_back({"phases", "between the steps: hooks, saving, evaluation", *left_, entered_});
    spans.push_back({"phases", "before the run: hooks", entered_, start});
    spans.push_back({"phases", "the run", start, end});
    spans.push_back({"phases", "after the run: hooks", end, now});
    for (const belay::NodeStats& node : nodes)
      if (node.op == "QueueDequeue") spans.push_back({"input", "waiting for the input", node.start, node.end});
    if (save_ && save_->end.value_or(now) >= left_.value_or(entered_))
      spans.push_back({"saving", "a checkpoint", save_->start, save_->end.value_or(now)});
    return spans;
  }
  void save(belay::RunContext& run, std::int64_t step) {
    const std::vector<belay::NodeStats> nodes = run.node_stats();
    const std::string path = directory_ + "/timeline-" + std::to_string(step) + ".json";
    const std::string text = chrome_trace(nodes, trace_edges(run.session().graph(), nodes), spans(nodes), trace_);
    belay::replace_or_warn(host(), path, text, warned_);
    host().info("traced step " + std::to_string(step) + ": " + std::to_string(nodes.size()) + " nodes, " + path);
  }
  [[noreturn]] static void fail_file(const std::string& path, const char* what) {
    belay::fail(Code::kUnknown, "profiler: '" + path + "' " + what + ": " + std::strerror(errno));
  }

  const std::string directory_;
  const TraceOptions trace_;
  belay::SecondOrStepTimer timer_;
  belay::GlobalStep step_;
  std::int64_t next_step_ = 0;  // the step that the coming run probably reaches
  bool ran_ = false;            // in this session
  bool due_ = false;
  std::chrono::nanoseconds entered_{};            // when the hook was entered before the traced run
  std::optional<std::chrono::nanoseconds> left_;  // when the run before it was left
  std::optional<Save> save_;                      // the last one
  bool warned_ = false;
};

}  // namespace

BELAY_MODULE("1.0.0", Profiler)
