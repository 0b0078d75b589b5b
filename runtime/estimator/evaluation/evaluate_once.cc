// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/evaluation/evaluate_once.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cstdint>

#include "belay/ops/variables.h"
#include "runtime/platform/text/fixed_text.h"

namespace belay::runtime {
namespace {

constexpr const char* kEvalStep = "eval_step";
constexpr const char* kEvalStepAfter = "eval_step_after_run";

}  // namespace

Output get_or_create_eval_step(const Graph& graph) {
  const std::uint64_t n = graph.collection_size(kEvalStep);
  if (n > 1) fail(Code::kInvalidArgument, fmt::format("[B5037] the graph has {} counters of evaluation runs", n));
  if (n == 1) return graph.collection_item(kEvalStep, 0);
  const Output step = ops::variable(graph, kEvalStep, Tensor(std::int64_t{0}), ops::VariableKind::kLocal);
  graph.collect(kEvalStep, step);
  return step;
}

// ---- StopAfterNEvals ----

StopAfterNEvals::StopAfterNEvals(std::optional<std::int64_t> num_evals, bool log_progress)
    : num_evals_(num_evals), log_progress_(log_progress) {
  if (num_evals && *num_evals <= 0)
    fail(Code::kInvalidArgument, fmt::format("[B5037] an evaluation needs at least one step, got {}", *num_evals));
}

void StopAfterNEvals::begin(Graph& graph) {
  if (graph.collection_size(kEvalStepAfter) == 0)
    fail(Code::kFailedPrecondition, "[B5037] the evaluation runs nothing that could be counted: it has no eval_ops");
  done_ = graph.fetch<std::int64_t>(graph.collection_item(kEvalStepAfter, 0), kEvalStep);
}

RunArgs StopAfterNEvals::before_run(RunContext&) { return {done_}; }

void StopAfterNEvals::after_run(RunContext& run, const RunValues& values) {
  constexpr std::int64_t kFew = 20, kParts = 10;
  const std::int64_t done = values[done_];
  const bool last = num_evals_ && done >= *num_evals_;
  const bool is_due = num_evals_ ? *num_evals_ < kFew || done % (*num_evals_ / kParts) == 0
                                 : std::has_single_bit(static_cast<std::uint64_t>(done));
  if (log_progress_ && (is_due || last))
    host().info(fmt::format("evaluation [{}{}]", done, num_evals_ ? "/" + std::to_string(*num_evals_) : ""));
  if (last) run.request_stop(fmt::format("evaluated {} batches", done));
}

OwnHook stop_after(std::optional<std::int64_t> num_evals, bool log_progress) {
  return own_hook("stop_after_n_evals", std::make_unique<StopAfterNEvals>(num_evals, log_progress));
}

// ---- EvaluateOnce ----

EvaluateOnce::EvaluateOnce(NodeGraph& graph, EvaluateOnceOptions options)
    : graph_(graph), options_(std::move(options)) {
  const Graph g = graph.handle();
  const Output step = get_or_create_eval_step(g);
  if (options_.eval_ops.empty()) return;
  const auto after = g.after(options_.eval_ops);
  const Output counted = ops::assign_add(step, ops::constant(g, Tensor(std::int64_t{1})), "update_eval_step");
  g.collect(kEvalStepAfter, counted);
  options_.eval_ops.push_back(counted.operation());
}

void EvaluateOnce::add_final_ops(SessionHost& session) {
  auto hook = std::make_unique<FinalOps>(options_.final_ops, options_.final_feeds);
  final_ops_ = hook.get();
  session.add_hook("final_ops of the evaluation", [&hook](const belay_host_api* api, belay_host* host) {
    return belay::hook(api, host, std::move(hook));
  });
}

std::vector<Tensor> EvaluateOnce::run(SessionHost& session, std::shared_ptr<SessionScaffold> scaffold,
                                      std::int64_t most, const std::function<bool()>& keep_going) {
  if (final_ops_ == nullptr) add_final_ops(session);
  RunHost& run = session.run();
  run.log().info("", "evaluation started");
  const std::int64_t start = run.clock().monotonic_ns();
  const std::unique_ptr<MonitoredSession> opened = session.open(std::make_shared<ChiefSessionCreator>(
      graph_, run.environment(), ChiefSessionCreator::Options{.scaffold = std::move(scaffold)}));
  FetchSet fetches(std::vector<FetchRef>(options_.eval_ops.begin(), options_.eval_ops.end()));
  std::vector<belay_feed> feeds;
  for (const auto& [output, tensor] : options_.feeds) feeds.push_back({output.raw(), tensor.view()});
  RunCall call;
  call.fetches = &fetches;
  call.feeds = feeds;
  runs_ = 0;
  opened->scope([&] {
    while (!options_.eval_ops.empty() && !opened->should_stop() && (most == 0 || runs_ < most)) {
      if (!keep_going()) fail(Code::kCancelled, "the evaluation was interrupted");
      opened->run(call);
      ++runs_;
    }
  });
  const double seconds = static_cast<double>(run.clock().monotonic_ns() - start) * 1e-9;
  run.log().info("", "evaluation finished in " + fixed_text(seconds, 6) + " s: " + ended_text(opened->end_reason()));
  return final_ops_->values();
}

}  // namespace belay::runtime
