// SPDX-License-Identifier: Apache-2.0
// evaluation_loop of learning.h.
#include "belay/runtime/learning.h"
#include "runtime/api/graph.h"
#include "runtime/api/log.h"
#include "runtime/estimator/evaluation/evaluate_once.h"
#include "runtime/estimator/evaluation/evaluate_repeatedly.h"
#include "runtime/estimator/resume/checkpoint_choice.h"
#include "runtime/platform/files/absolute_path.h"

namespace belay::runtime {
namespace {

RunHostOptions evaluation_options(const EvaluationLoopOptions& o) {
  RunHostOptions run;
  run.events_dir = absolute_path(o.logdir);
  run.threads = o.threads;
  run.seed = o.seed;
  run.session.signal_grace_secs = 0;  // the program's signals are its own
  return run;
}

// The graph's session, made again for each checkpoint.
class CheckpointEvaluation {
 public:
  CheckpointEvaluation(OwnedGraph& graph, const EvaluationLoopOptions& o, Logger& log)
      : platform_{system_clock(), log, posix_file_system()},
        host_(platform_, control_, evaluation_options(o)),
        plugins_(host_, graph.plugins()),
        session_(host_, {.mode = Mode::kEval}),
        once_(graph.insides().nodes, {o.eval_ops, o.feeds, o.final_ops, {}}),
        scaffold_(o.scaffold) {
    host_.use_codec(plugins_.linked_saver(o.saver, host_.saver_monitor()));
    if (!o.logdir.empty()) session_.open_events();
    if (!o.eval_ops.empty()) add_hook(session_, plugins_, stop_after(o.num_evals));
    for (const OwnHook& hook : o.hooks) add_hook(session_, plugins_, hook);
  }

  std::vector<Tensor> run(const std::string& checkpoint) {
    ScaffoldOptions pieces{scaffold_};
    pieces.host_init = [&](const SessionScaffold&, DirectSession& session) {
      load_checkpoint({host_.files(), host_.log(), ""}, {.kind = CheckpointChoice::Kind::kPath, .path = checkpoint},
                      host_.codec(), session);
    };
    return once_.run(session_, std::make_shared<SessionScaffold>(std::move(pieces)));
  }
  const Platform& platform() const noexcept { return platform_; }

 private:
  const Platform platform_;
  RunControl control_;
  RunHost host_;
  RunPlugins plugins_;
  SessionHost session_;
  EvaluateOnce once_;
  const belay::Scaffold scaffold_;
};

}  // namespace
}  // namespace belay::runtime

namespace belay {

std::vector<Tensor> evaluation_loop(OwnedGraph& graph, const std::string& checkpoint_dir,
                                    const EvaluationLoopOptions& options) {
  if (options.num_evals < 1) fail(Code::kInvalidArgument, "[B5052] evaluation_loop: num_evals must be above 0");
  const auto log = runtime::make_log(options.log);
  runtime::CheckpointEvaluation evaluation(graph, options, *log);
  const runtime::Platform& platform = evaluation.platform();
  std::vector<Tensor> values;
  runtime::evaluate_repeatedly(platform, runtime::absolute_path(checkpoint_dir),
                               {.eval_interval_secs = options.eval_interval_secs,
                                .max_number_of_evaluations = options.max_number_of_evaluations,
                                .timeout_secs = options.timeout_secs},
                               [&](const std::string& path) {
                                 values = evaluation.run(path);
                                 return true;
                               });
  return values;
}

}  // namespace belay
