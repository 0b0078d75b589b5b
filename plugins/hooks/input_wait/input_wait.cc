// SPDX-License-Identifier: Apache-2.0
// Measures the time that a step waits for its batch. A traced run has the start and end of each node. The nodes that
// take from a queue only wait.
#include <belay/due_steps.h>
#include <belay/plugin.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace {

double seconds(std::chrono::nanoseconds t) { return std::chrono::duration<double>(t).count(); }

class InputWait final : public belay::Hook {
 public:
  struct Options {
    std::int64_t every_n_steps = 100;
    double warn_share = 0.5;
  };
  static constexpr auto about = belay::about(
      "input_wait",
      "Measures how much of a step's time is spent on waiting for the input, and warns if the share is large",
      belay::option("every_n_steps", &Options::every_n_steps,
                    "period of the measurements, in steps; the steps between them cost nothing")
          .min(1)
          .watching(),
      belay::option(
          "warn_share", &Options::warn_share,
          "share of waiting, over three measured steps, that causes a warning; there is at most one in ten minutes")
          .range(0, 1)
          .watching());

  explicit InputWait(const Options& o) : warn_share_(o.warn_share), due_(o.every_n_steps) {}

  void begin(belay::Graph& graph) override { due_.begin(graph); }
  void after_create_session(belay::Session& session) override {
    due_.session_created(session);
    first_ = true;
  }

  belay::RunArgs before_run(belay::RunContext&) override {
    belay::RunArgs args{due_.fetch()};
    if (due_.next(host())) {
      belay::RunOptions options;
      options.trace_level = belay::RunOptions::Trace::kSoftware;
      args.options(options);
    }
    return args;
  }
  // A session's first run makes plans and kernels while its queue is being filled, so it is not measured.
  void after_run(belay::RunContext& run, const belay::RunValues& values) override {
    const auto step = due_.reached(run.session(), values, host());
    if (step && !first_) measure(run.node_stats(), *step);
    first_ = false;
  }

  void end(belay::Session&) override {
    if (whole_ > 0)
      host().info("waited for the input in " + percent(waited_ / whole_) + " of the time of " +
                  std::to_string(measured_) + " measured steps");
  }

  void save_state(belay::StateWriter& state) const override {
    due_.save(state, host());
    state.put("waited", waited_);
    state.put("whole", whole_);
    state.put("measured", measured_);
    state.put("recent_waited", std::vector<double>(recent_waited_, recent_waited_ + kRecent));
    state.put("recent_whole", std::vector<double>(recent_whole_, recent_whole_ + kRecent));
  }
  void load_state(const belay::StateReader& state) override {
    due_.load(state, host());
    waited_ = state.number("waited");
    whole_ = state.number("whole");
    measured_ = state.integer("measured");
    load_recent(state.numbers("recent_waited"), recent_waited_);
    load_recent(state.numbers("recent_whole"), recent_whole_);
  }

 private:
  static constexpr std::size_t kRecent = 3;

  static std::string percent(double share) { return belay::rounded_text(100 * share, 3) + " %"; }
  static void load_recent(const std::vector<double>& stored, double* into) {
    std::fill(into, into + kRecent, 0.0);
    std::copy_n(stored.begin(), std::min(stored.size(), kRecent), into);
  }

  void measure(const std::vector<belay::NodeStats>& nodes, std::int64_t step) {
    if (nodes.empty()) return;
    std::chrono::nanoseconds begin = nodes[0].start, end = nodes[0].end, wait{};
    for (const belay::NodeStats& node : nodes) {
      begin = std::min(begin, node.start);
      end = std::max(end, node.end);
      if (node.op == "QueueDequeue") wait += node.end - node.start;
    }
    const double waited = seconds(wait), whole = seconds(end - begin);
    if (whole <= 0) return;
    const belay::Events events(host());
    events.scalar("input_wait/secs", step, waited);
    events.scalar("input_wait/share", step, waited / whole);
    recent_waited_[static_cast<std::size_t>(measured_) % kRecent] = waited;
    recent_whole_[static_cast<std::size_t>(measured_) % kRecent] = whole;
    waited_ += waited;
    whole_ += whole;
    ++measured_;
    warn();
  }

  void warn() {
    constexpr std::chrono::minutes kPause(10);
    if (measured_ < static_cast<std::int64_t>(kRecent)) return;
    double waited = 0, whole = 0;
    for (std::size_t i = 0; i < kRecent; ++i) waited += recent_waited_[i], whole += recent_whole_[i];
    if (waited < warn_share_ * whole) return;
    const auto now = host().monotonic();
    if (warned_ && now - *warned_ < kPause) return;
    warned_ = now;
    host().warning("a step waits for the input in " + percent(waited / whole) +
                   " of its time: give the input more decode_threads or a larger prefetch, or prepare its data before "
                   "the training");
  }

  const double warn_share_;
  belay::DueSteps due_;
  bool first_ = true;
  double waited_ = 0, whole_ = 0;  // seconds of all measured steps
  std::int64_t measured_ = 0;
  double recent_waited_[kRecent] = {}, recent_whole_[kRecent] = {};
  std::optional<std::chrono::nanoseconds> warned_;
};

}  // namespace

BELAY_MODULE("1.0.0", InputWait)
