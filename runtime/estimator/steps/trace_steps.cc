// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/steps/trace_steps.h"

#include "runtime/monitored/layers/monitored_session.h"

namespace belay::runtime {

void trace_steps(RunHost& run, ModelGraph& model, int warm, int traced, const StepTraces& then) {
  HookSet no_hooks;
  SingularMonitoredSession session(model.graph, run.environment(), no_hooks);
  FetchSet train_op(std::vector<FetchRef>{model.outputs.train_op});
  std::vector<RunMetadata> traces;
  session.scope([&] {
    const std::shared_ptr<DirectSession> raw = session.raw_session();
    try {
      for (int i = 0; i < warm + traced; ++i) {
        RunMetadata metadata;
        RunRequest request;
        request.fetches = &train_op;
        request.full_team = true;
        request.trace_level = i < warm ? 0 : 1;
        request.metadata = &metadata;
        raw->run(request);
        if (i >= warm) traces.push_back(std::move(metadata));
      }
    } catch (const Error& e) {
      if (!is_end_of_input(e.code()) || traces.empty()) throw;
    }
    then(*raw->plan_of(train_op), raw->plan_stats(&train_op), traces);
  });
}

}  // namespace belay::runtime
