// SPDX-License-Identifier: Apache-2.0
// One evaluation of a graph, as TensorFlow's evaluate_once does it. Operations run again and again, until the input
// ends or a hook stops it. Then the final values are fetched. It may be repeated.
//
//   SessionHost session(run, {.events_folder = "eval"});
//   add_hook(session, plugins, stop_after(100));
//   EvaluateOnce evaluation(graph.handle(), {.eval_ops = {accuracy.update}, .final_ops = {accuracy.value}});
//   const std::vector<Tensor> values = evaluation.run(session, scaffold);
//
// A local int64 variable, eval_step, counts the runs. A run that comes to the end of the input does not count. [main]
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "belay/hook.h"
#include "belay/hooks/final_ops.h"
#include "runtime/estimator/host/monitored_training_session.h"
#include "runtime/estimator/host/session_host.h"

namespace belay::runtime {

// Returns the graph's counter of evaluation runs, and makes it if there is none. INVALID_ARGUMENT if there are two.
Output get_or_create_eval_step(const Graph& graph);

// Stops an evaluation after so many runs. Without a number, its input ends it. Logs the progress: every run if there
// are few, else after each tenth part of them. If the number is not known, it logs runs 1, 2, 4, 8 and so on. Use it
// only in evaluate_once, since it reads that counter. [session]
class StopAfterNEvals final : public Hook {
 public:
  // INVALID_ARGUMENT if it is not above 0.
  explicit StopAfterNEvals(std::optional<std::int64_t> num_evals, bool log_progress = true);

  void begin(Graph& graph) override;
  RunArgs before_run(RunContext& run) override;
  void after_run(RunContext& run, const RunValues& values) override;

 private:
  const std::optional<std::int64_t> num_evals_;
  const bool log_progress_;
  Fetch<std::int64_t> done_;  // with the run that reads it
};

// The same as a program's hook.
OwnHook stop_after(std::optional<std::int64_t> num_evals, bool log_progress = true);

struct EvaluateOnceOptions {
  std::vector<Output> eval_ops = {};  // of each run; none: there is no run at all
  Feeds feeds = {};
  std::vector<Output> final_ops = {};  // fetched once, when the evaluation has ended well
  Feeds final_feeds = {};
};

class EvaluateOnce {
 public:
  // Adds the counter. Make it before the session's hooks begin.
  EvaluateOnce(NodeGraph& graph, EvaluateOnceOptions options);
  // Returns the values of the final operations. The session's hooks keep their order, and the hook that fetches comes
  // after them. The scaffold restores or initializes its model. `most`: the limit of runs of the operations, if it is
  // above 0. keep_going is called before each run: false is CANCELLED. Call it again only with the same session.
  std::vector<Tensor> run(
      SessionHost& session, std::shared_ptr<SessionScaffold> scaffold, std::int64_t most = 0,
      const std::function<bool()>& keep_going = [] { return true; });
  // The number of runs of the operations in the last call.
  std::int64_t runs() const noexcept { return runs_; }

 private:
  void add_final_ops(SessionHost& session);

  NodeGraph& graph_;
  EvaluateOnceOptions options_;
  const FinalOps* final_ops_ = nullptr;  // the session's
  std::int64_t runs_ = 0;
};

}  // namespace belay::runtime
