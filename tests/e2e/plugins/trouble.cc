// SPDX-License-Identifier: Apache-2.0
// A hook that makes the trouble that a test asks for, or none.
#include <belay/plugin.h>

#include <chrono>
#include <csignal>
#include <stdexcept>
#include <string>
#include <thread>

namespace {

class Trouble final : public belay::Hook {
 public:
  struct Options {
    std::int64_t throw_at_step = -1;
    std::int64_t hang_at_step = -1;
    std::int64_t crash_at_step = -1;
    std::int64_t stop_at_run = -1;
    std::int64_t fetches = 0;
    belay::Str dawdle_in;    // a callback
    double dawdle_secs = 0;  // 0: for ever
    bool dawdle_each = false;
    belay::Str dies_in;  // a callback
    std::int64_t dies_at = 1;
  };
  static constexpr auto about = belay::about(
      "trouble", "Makes trouble for tests of the host",
      belay::option("throw_at_step", &Options::throw_at_step, "throws in after_run").watching(),
      belay::option("hang_at_step", &Options::hang_at_step, "hangs in after_run").watching(),
      belay::option("crash_at_step", &Options::crash_at_step, "dies of SIGSEGV in after_run").watching(),
      belay::option("stop_at_run", &Options::stop_at_run, "asks to stop in after_run").watching(),
      belay::option("fetches", &Options::fetches, "1: fetches every tensor of the graph that it can name").watching(),
      belay::option("dawdle_in", &Options::dawdle_in, "the callback that does not return").watching(),
      belay::option("dawdle_secs", &Options::dawdle_secs, "after this it does; 0: never").watching(),
      belay::option("dawdle_each", &Options::dawdle_each, "in each call of it, not in the first alone").watching(),
      belay::option("dies_in", &Options::dies_in, "the callback in which it kills the process (SIGKILL)").watching(),
      belay::option("dies_at", &Options::dies_at, "at this call of it, counted from 1").watching());

  explicit Trouble(const Options& o) : o_(o) {}

  void begin(belay::Graph& graph) override {
    trouble("begin");
    step_ = graph.global_step();
    if (o_.fetches == 0) return;
    for (const char* name : {"loss", "mean_absolute_error", "accuracy", "probabilities", "class", "value", "train_op"})
      if (const belay::Output o = graph.find_if_exists(name)) fetch(graph, o);
    for (std::uint32_t node = 0;; ++node) {
      auto info = belay::detail::sized<belay_node_info>();
      belay::detail::Status status;
      if (graph.api()->node_info(graph.raw(), node, &info, status) != BELAY_OK) break;
      for (std::uint32_t i = 0; i < info.n_outputs; ++i) fetch(graph, graph.output({graph.serial(), node, i}));
    }
    host().info("fetches " + std::to_string(everything_.size()) + " tensors");
  }
  void after_create_session(belay::Session&) override { trouble("after_create_session"); }
  void before_save(belay::Session&, std::int64_t) override { trouble("before_save"); }
  bool after_save(belay::Session&, const belay::Saved&) override {
    trouble("after_save");
    return false;
  }
  void end(belay::Session&) override { trouble("end"); }
  belay::RunArgs before_run(belay::RunContext&) override {
    trouble("before_run");
    belay::RunArgs args{step_};
    for (const belay::Output& o : everything_) args.fetch(o);
    return args;
  }
  void after_run(belay::RunContext& run, const belay::RunValues& values) override {
    trouble("after_run");
    const std::int64_t step = values[step_];
    if (step == o_.throw_at_step) throw std::runtime_error("boom");
    if (step == o_.crash_at_step) std::raise(SIGSEGV);
    while (step == o_.hang_at_step) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (runs_++ == o_.stop_at_run) run.request_stop("enough");
  }

 private:
  void trouble(const char* callback) {
    if (o_.dies_in == callback && ++calls_ == o_.dies_at) std::raise(SIGKILL);
    dawdle(callback);
  }
  void dawdle(const char* callback) {
    if (o_.dawdle_in != callback || (dawdled_ && !o_.dawdle_each)) return;
    if (!dawdled_) host().info(std::string("dawdles in ") + callback);
    dawdled_ = true;
    using Clock = std::chrono::steady_clock;
    const auto until = Clock::now() + std::chrono::duration<double>(o_.dawdle_secs);
    while (o_.dawdle_secs == 0 || Clock::now() < until) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  void fetch(const belay::Graph& graph, const belay::Output& o) {
    if (o.is_operation()) return;
    const std::string op = graph.op_of(o);
    // A callback that waits or writes is no observation.
    for (const char* effect : {"Assign", "AssignAdd", "AssignSub", "QueueDequeue", "QueueSize", "ApplyAdam",
                               "ApplyMomentum", "ApplyGradientDescent", "ReportUninitializedVariables", "FIFOQueue"})
      if (op == effect) return;
    everything_.push_back(graph.fetch(o));
  }

  Options o_;
  belay::Fetch<std::int64_t> step_;
  std::vector<belay::Output> everything_;
  std::int64_t runs_ = 0;
  std::int64_t calls_ = 0;  // of dies_in
  bool dawdled_ = false;
};

}  // namespace

BELAY_MODULE("1.0.0", Trouble)
