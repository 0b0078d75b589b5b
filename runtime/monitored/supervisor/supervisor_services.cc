// SPDX-License-Identifier: Apache-2.0
#include "runtime/monitored/supervisor/supervisor_services.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "runtime/events/graph_def.h"
#include "runtime/platform/threads/looper_thread.h"

namespace belay::runtime {
namespace {

// The most log lines about the number of steps per second. The event file has them all.
constexpr int kMostRatesLogged = 10;

// Calls `work` at once and then every period. A service stopped before its first call still makes the call. So every
// started service writes something.
std::shared_ptr<Joinable> start_service(Coordinator& coordinator, double period_secs, const std::string& name,
                                        const std::function<void()>& work, std::function<void()> prepare = {}) {
  auto ran = std::make_shared<bool>(false);
  LooperThread::Loop loop;
  loop.start_loop = std::move(prepare);
  loop.run_loop = [work, ran] {
    *ran = true;
    work();
  };
  loop.stop_loop = [work, ran] {
    if (!*ran) work();
  };
  return LooperThread::start(coordinator, period_secs, std::move(loop), name);
}

}  // namespace

SupervisorServices::SupervisorServices(const RunEnvironment& environment, Options options)
    : environment_(environment), options_(std::move(options)) {}

std::int64_t SupervisorServices::step_of(const DirectSession& session) const {
  return options_.counts_steps ? std::max<std::int64_t>(session.global_step(), 0) : 0;
}

// ---- the event file ----

void SupervisorServices::open_events(const NodeGraph& graph) {
  if (!writes_events()) return;
  const std::lock_guard lock(events_mutex_);
  if (events_ != nullptr) return;
  EventWriterOptions options;
  options.flush_secs = options_.events_flush_secs;
  options.on_warning = [&log = environment_.log](std::string_view text) { log.warning("events", text); };
  events_ = std::make_unique<EventWriter>(options_.directory->directory(), environment_.clock, std::move(options));
  events_->add_graph(serialized_graph_def(graph));
}

void SupervisorServices::close_events() {
  const std::lock_guard lock(events_mutex_);
  if (events_ == nullptr) return;
  events_->add_session_log(EventWriter::kStop, 0);
  events_.reset();
}

void SupervisorServices::add_summary(std::string_view summary, std::int64_t step) {
  const std::lock_guard lock(events_mutex_);
  if (events_ == nullptr)
    fail(Code::kFailedPrecondition, "[B5089] Writing a summary requires a summary writer, and none is open");
  events_->add_summary(summary, step);
}

void SupervisorServices::add_start(std::int64_t step) {
  const std::lock_guard lock(events_mutex_);
  if (events_ != nullptr) events_->add_session_log(EventWriter::kStart, step);
}

void SupervisorServices::add_own(const std::function<void(EventWriter&)>& add) {
  const std::lock_guard lock(events_mutex_);
  if (events_ == nullptr) {
    environment_.log.warning("events", "an event was dropped: the supervisor's event file is closed");
    return;
  }
  add(*events_);
}

void SupervisorServices::flush_events() {
  const std::lock_guard lock(events_mutex_);
  if (events_ != nullptr) events_->flush();
}

// ---- the services ----

std::shared_ptr<Joinable> SupervisorServices::start_summaries(Coordinator& coordinator,
                                                              const std::shared_ptr<DirectSession>& session,
                                                              double period_secs) {
  return start_service(coordinator, period_secs, "supervisor_summaries",
                       [self = shared_from_this(), session] { self->write_summary(*session); });
}

void SupervisorServices::write_summary(DirectSession& session) {
  std::vector<FetchRef> fetches{options_.summary_op};
  const Output step = options_.counts_steps ? session.graph().handle().global_step_if_exists() : Output();
  if (step) fetches.emplace_back(step);
  const RunResult result = session.handle().run(fetches);
  const std::int64_t at = step ? static_cast<std::int64_t>(result[1].number(0)) : 0;
  const std::lock_guard lock(events_mutex_);
  if (events_ != nullptr) events_->add_summary(result[0].text(0), at);
}

std::shared_ptr<Joinable> SupervisorServices::start_step_counter(Coordinator& coordinator,
                                                                 const std::shared_ptr<DirectSession>& session,
                                                                 double period_secs) {
  const auto begin = [self = shared_from_this(), session] {
    self->counted_at_ns_ = self->environment_.clock.monotonic_ns();
    self->counted_step_ = self->step_of(*session);
  };
  return start_service(
      coordinator, period_secs, "supervisor_step_counter",
      [self = shared_from_this(), session] { self->write_steps_per_second(*session); }, begin);
}

void SupervisorServices::write_steps_per_second(DirectSession& session) {
  const std::int64_t now = environment_.clock.monotonic_ns();
  const std::int64_t step = step_of(session);
  const auto steps = static_cast<double>(step - counted_step_);
  const double seconds = static_cast<double>(now - counted_at_ns_) * 1e-9;
  double rate = 0;
  if (steps != 0) rate = seconds > 0 ? steps / seconds : std::numeric_limits<double>::infinity();
  counted_at_ns_ = now;
  counted_step_ = step;
  const std::string tag = session.global_step_name() + "/sec";
  {
    const std::lock_guard lock(events_mutex_);
    if (events_ != nullptr) events_->add_scalar(tag, step, rate);
  }
  if (rates_logged_ < kMostRatesLogged) {
    ++rates_logged_;
    environment_.log.info("supervisor", fmt::format("{}: {}", tag, rate));
  }
}

std::shared_ptr<Joinable> SupervisorServices::start_checkpoints(Coordinator& coordinator,
                                                                const std::shared_ptr<DirectSession>& session,
                                                                double period_secs) {
  return start_service(coordinator, period_secs, "supervisor_checkpoints",
                       [self = shared_from_this(), session] { self->write_checkpoint(*session); });
}

void SupervisorServices::write_checkpoint(DirectSession& session) {
  options_.saver->request();
  options_.saver->at_boundary(session, no_hooks_);
  options_.saver->finish(session, no_hooks_);  // this thread has nothing else to do
  if (!options_.saver->save_error().empty() || !options_.counts_steps) return;
  const std::lock_guard lock(events_mutex_);
  if (events_ == nullptr) return;
  events_->add_session_log(EventWriter::kCheckpoint, options_.saver->saved_step(),
                           options_.directory->path() + "/" + options_.saver->options().checkpoint.basename);
  events_->flush();
}

}  // namespace belay::runtime
