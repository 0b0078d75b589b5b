// SPDX-License-Identifier: Apache-2.0
#include "belay/runtime/training_session.h"

#include <any>
#include <utility>

#include "runtime/api/graph.h"
#include "runtime/api/log.h"
#include "runtime/api/results.h"
#include "runtime/estimator/host/monitored_training_session.h"
#include "runtime/platform/files/absolute_path.h"

namespace belay::runtime {

namespace {

TrainingSessionSetup setup_of(const OwnedGraph& graph, const TrainingSessionOptions& options, bool recovers,
                              Logger& log) {
  TrainingSessionSetup setup{options};
  setup.checkpoint_dir = absolute_path(options.checkpoint_dir);
  setup.checkpoint_filename_with_path = absolute_path(options.checkpoint_filename_with_path);
  setup.summary_dir = absolute_path(options.summary_dir);
  setup.plugins = graph.plugins();
  setup.targets = process_targets();
  setup.recovers = recovers;
  setup.logger = &log;
  return setup;
}

}  // namespace
}  // namespace belay::runtime

namespace belay {

struct MonitoredSession::Insides {
  Insides(OwnedGraph& graph, const TrainingSessionOptions& options, bool recovers)
      : log(runtime::make_log(options.log)),
        session(graph.insides().nodes, runtime::setup_of(graph, options, recovers, *log)) {}

  const std::unique_ptr<runtime::Logger> log;
  runtime::MonitoredTrainingSession session;
};

MonitoredSession::MonitoredSession(OwnedGraph& graph, const TrainingSessionOptions& options, bool recovers)
    : insides_(std::make_unique<Insides>(graph, options, recovers)) {}

MonitoredSession::~MonitoredSession() = default;

namespace {

// Leaves out the default hooks: a period of 0 leaves one out.
TrainingSessionOptions without_default_hooks(const SingularSessionOptions& o) {
  TrainingSessionOptions options;
  options.checkpoint_dir = o.checkpoint_dir;
  options.checkpoint_filename_with_path = o.checkpoint_filename_with_path;
  options.hooks = o.hooks;
  options.scaffold = o.scaffold;
  options.checkpoint.save_secs = 0;
  options.session.save_summaries_steps = 0;
  options.session.log_step_count_steps = 0;
  options.saver = o.saver;
  options.threads = o.threads;
  options.seed = o.seed;
  options.log = o.log;
  return options;
}

}  // namespace

SingularMonitoredSession::SingularMonitoredSession(OwnedGraph& graph, const SingularSessionOptions& options)
    : MonitoredSession(graph, without_default_hooks(options), false) {}

// ---- runs ----

RunResult MonitoredSession::run(const std::vector<FetchRef>& fetches, const Feeds& feeds, const RunOptions& options) {
  runtime::CallerOptions caller;
  static_cast<RunOptions&>(caller) = options;
  return runtime::run_result(insides_->session->run(fetches, feeds, caller), fetches);
}

RunResult MonitoredSession::run_without_hooks(const std::vector<FetchRef>& fetches, const Feeds& feeds) {
  return runtime::run_result(insides_->session->run_without_hooks(fetches, feeds), fetches);
}

void MonitoredSession::call_step(const std::function<void(StepContext&)>& step) {
  insides_->session->run_step_fn([&](runtime::StepFnContext& inner) -> std::any {
    StepContext context(inner.session().handle(), [&inner](const std::vector<FetchRef>& fetches, const Feeds& feeds) {
      return runtime::run_in_step(inner, fetches, feeds);
    });
    step(context);
    return {};
  });
}

// ---- its life ----

void MonitoredSession::scope(const std::function<void()>& body) { insides_->session->scope(body); }

bool MonitoredSession::should_stop() { return insides_->session->should_stop(); }

void MonitoredSession::request_stop(const std::string& reason) { insides_->session->request_stop(reason); }

void MonitoredSession::stop_now(const std::string& reason) { insides_->session->stop_now(reason); }

std::string MonitoredSession::save() { return insides_->session->save(); }

void MonitoredSession::close() { insides_->session->close(); }

// ---- what is asked ----

bool MonitoredSession::closed() const noexcept { return insides_->session->closed(); }

EndReason MonitoredSession::end_reason() const { return insides_->session->end_reason(); }

Session MonitoredSession::session() {
  const auto raw = insides_->session->raw_session();
  if (raw == nullptr) fail(Code::kFailedPrecondition, "[B5070] the session has ended, or is being made anew");
  return raw->handle();
}

std::int64_t MonitoredSession::global_step() { return insides_->session->global_step(); }

bool MonitoredSession::restored() const noexcept { return insides_->session->restored(); }

std::int64_t MonitoredSession::recoveries() const noexcept { return insides_->session->recoveries(); }

std::string MonitoredSession::checkpoint() const { return insides_->session.checkpoint(); }

std::vector<std::string> MonitoredSession::live_threads() const { return insides_->session->unjoined(); }

}  // namespace belay
