// SPDX-License-Identifier: Apache-2.0
#include "runtime/monitored/supervisor/supervisor.h"

#include <utility>

#include "belay/runtime/supervisor.h"
#include "runtime/api/graph.h"
#include "runtime/api/log.h"
#include "runtime/api/results.h"
#include "runtime/estimator/host/run_host.h"
#include "runtime/estimator/host/run_plugins.h"
#include "runtime/graph/graph_service.h"
#include "runtime/monitored/run/fingerprint.h"
#include "runtime/platform/files/absolute_path.h"
#include "runtime/session/session_service.h"

namespace belay {
namespace {

runtime::RunHostOptions host_options(const SupervisorOptions& o) {
  runtime::RunHostOptions options;
  options.threads = o.threads;
  options.seed = o.seed;
  options.checkpoint = o.checkpoint;
  options.session.signal_grace_secs = 0;  // the program's signals are its own
  return options;
}

std::optional<runtime::RunSaverOptions> saver_options(const SupervisorOptions& o, runtime::RunHost& run,
                                                      runtime::RunPlugins& plugins) {
  if (o.checkpoint.on_save_error == runtime::OnSaveError::kPause)
    fail(Code::kInvalidArgument,
         "[B5052] on_save_error is kPause, and a supervisor's training is the program's: take kContinue or kStop");
  if (o.logdir.empty() || o.saver.empty()) return std::nullopt;
  runtime::RunSaverOptions options;
  options.saver = plugins.linked_saver(o.saver, run.monitor());
  options.checkpoint = o.checkpoint;
  options.fingerprint = runtime::fingerprint_of(run.environment(), plugins.registry());
  return options;
}

runtime::SupervisorSetup setup_of(const SupervisorOptions& options, runtime::RunHost& run,
                                  runtime::RunPlugins& plugins) {
  runtime::SupervisorSetup setup{options};
  setup.logdir = runtime::absolute_path(options.logdir);
  if (options.is_chief) setup.run_saver = saver_options(options, run, plugins);
  return setup;
}

}  // namespace

struct Supervisor::Insides {
  Insides(OwnedGraph& graph, const SupervisorOptions& options)
      : log(runtime::make_log(options.log)),
        run({runtime::system_clock(), *log, runtime::posix_file_system()}, control, host_options(options),
            runtime::process_targets()),
        plugins(run, graph.plugins()),
        supervisor(graph.insides().nodes, run.environment(), setup_of(options, run, plugins)) {}

  const std::shared_ptr<runtime::DirectSession>& prepared() const {
    if (session == nullptr) fail(Code::kFailedPrecondition, "[B5089] no session was prepared");
    return session;
  }

  const std::unique_ptr<runtime::Logger> log;
  runtime::RunControl control;
  runtime::RunHost run;
  runtime::RunPlugins plugins;
  std::shared_ptr<runtime::DirectSession> session;
  runtime::Supervisor supervisor;
};

Supervisor::Supervisor(OwnedGraph& graph, const SupervisorOptions& options)
    : insides_(std::make_unique<Insides>(graph, options)) {}

Supervisor::~Supervisor() = default;

// ---- sessions

void Supervisor::managed_session(const std::function<void(Session&)>& body, const ManagedOptions& options) {
  const auto with_handle = [&](runtime::DirectSession& session) {
    insides_->session = session.shared_from_this();
    Session handle = session.handle();
    body(handle);
  };
  insides_->supervisor.managed_session(with_handle, options);
}

Session Supervisor::prepare_or_wait_for_session(const PrepareOptions& options) {
  insides_->session = insides_->supervisor.prepare_or_wait_for_session(options);
  return insides_->session->handle();
}

void Supervisor::start_standard_services() { insides_->supervisor.start_standard_services(insides_->prepared()); }

void Supervisor::start_queue_runners() { insides_->supervisor.start_queue_runners(*insides_->prepared()); }

// ---- services

void Supervisor::loop(double interval_secs, std::function<void()> f) {
  insides_->supervisor.loop(interval_secs, std::move(f));
}

void Supervisor::summary_computed(std::string_view summary, std::int64_t step) {
  insides_->supervisor.summary_computed(*insides_->prepared(), summary, step);
}

struct SummaryWriter::Insides {
  std::shared_ptr<runtime::SupervisorServices> services;
};

SummaryWriter Supervisor::summary_writer() const {
  std::shared_ptr<runtime::SupervisorServices> services = insides_->supervisor.summary_writer();
  if (services == nullptr) return {};
  return SummaryWriter(std::make_shared<SummaryWriter::Insides>(SummaryWriter::Insides{std::move(services)}));
}

SummaryWriter::Insides& SummaryWriter::insides() const {
  if (insides_ == nullptr)
    fail(Code::kFailedPrecondition, "[B5089] a supervisor that is no chief, or has no logdir, keeps no events");
  return *insides_;
}

void SummaryWriter::add_scalar(std::string_view tag, std::int64_t step, double value) const {
  insides().services->add_own([&](runtime::EventWriter& events) { events.add_scalar(tag, step, value); });
}

void SummaryWriter::add_summary(std::string_view summary, std::int64_t step) const {
  insides().services->add_own([&](runtime::EventWriter& events) { events.add_summary(summary, step); });
}

void SummaryWriter::add_run_metadata(std::string_view tag, std::string_view run_metadata, std::int64_t step) const {
  insides().services->add_own([&](runtime::EventWriter& events) { events.add_run_metadata(tag, run_metadata, step); });
}

void SummaryWriter::flush() const { insides().services->flush_events(); }

// ---- the stop

void Supervisor::stop(const StopOptions& options) {
  insides_->supervisor.stop(
      {.close_summary_writer = options.close_summary_writer, .ignore_live_threads = options.ignore_live_threads});
}

void Supervisor::request_stop(const std::string& reason) { insides_->supervisor.request_stop(reason); }
void Supervisor::request_stop(const Error& error) { insides_->supervisor.request_stop(error); }
bool Supervisor::should_stop() const noexcept { return insides_->supervisor.should_stop(); }
bool Supervisor::wait_for_stop(std::chrono::nanoseconds timeout) {
  return insides_->supervisor.wait_for_stop(timeout.count());
}

// ---- what it has

Coordinator Supervisor::coordinator() {
  return {runtime::coordinator_service(), runtime::to_handle(&insides_->supervisor.coordinator())};
}
bool Supervisor::is_chief() const noexcept { return insides_->supervisor.is_chief(); }
const Output& Supervisor::init_op() const noexcept { return insides_->supervisor.init_op(); }
const Output& Supervisor::ready_op() const noexcept { return insides_->supervisor.ready_op(); }
const Output& Supervisor::ready_for_local_init_op() const noexcept {
  return insides_->supervisor.ready_for_local_init_op();
}
const Output& Supervisor::local_init_op() const noexcept { return insides_->supervisor.local_init_op(); }
const Output& Supervisor::summary_op() const noexcept { return insides_->supervisor.summary_op(); }
const Output& Supervisor::global_step() const noexcept { return insides_->supervisor.global_step(); }

}  // namespace belay
