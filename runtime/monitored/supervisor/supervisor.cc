// SPDX-License-Identifier: Apache-2.0
#include "runtime/monitored/supervisor/supervisor.h"

#include <fmt/core.h>

#include "runtime/monitored/hooks/session_hook.h"
#include "runtime/monitored/saving/default_pieces.h"
#include "runtime/platform/text/text.h"
#include "runtime/platform/threads/looper_thread.h"

namespace belay::runtime {

Supervisor::Supervisor(NodeGraph& graph, const RunEnvironment& environment, SupervisorSetup setup)
    : graph_(graph),
      environment_(environment),
      options_(std::move(setup)),
      coordinator_(
          std::make_shared<Coordinator>(environment.clock, std::vector<Code>{Code::kOutOfRange, Code::kStop})) {
  check_periods();
  find_global_step();
  find_pieces();
  SupervisorServices::Options services;
  if (options_.is_chief && !options_.logdir.empty()) {
    services.directory = std::make_shared<RunDirectory>(
        RunDirectory::open(environment.files, options_.logdir, environment.clock, environment.log));
    if (options_.run_saver && !graph.collection(collections::kGlobalVariables).empty())
      saver_ = std::make_shared<RunSaver>(environment, services.directory->directory(), *options_.run_saver);
  }
  services.writes_events = options_.writes_events;
  services.saver = saver_;
  services.summary_op = summary_op_;
  services.counts_steps = static_cast<bool>(global_step_);
  services.events_flush_secs = options_.events_flush_secs;
  services_ = std::make_shared<SupervisorServices>(environment, std::move(services));
  if (options_.session_manager == nullptr) {
    SessionManagerOptions manager;
    manager.local_init_op = local_init_op_;
    manager.ready_op = ready_op_;
    manager.ready_for_local_init_op = ready_for_local_init_op_;
    manager.recovery_wait_secs = options_.recovery_wait_secs;
    options_.session_manager = std::make_shared<SessionManager>(graph, environment, std::move(manager));
  }
  graph_.hold();
}

Supervisor::~Supervisor() {
  try {
    if (!coordinator_->joined()) stop({.ignore_live_threads = true});
    services_->close_events();
  } catch (const Error& e) {
    environment_.log.error("supervisor", e.what());
  }
  graph_.release();
}

void Supervisor::check_periods() const {
  for (const auto& [name, value] : {std::pair{"save_summaries_secs", options_.save_summaries_secs},
                                    std::pair{"save_model_secs", options_.save_model_secs},
                                    std::pair{"events_flush_secs", options_.events_flush_secs},
                                    std::pair{"recovery_wait_secs", options_.recovery_wait_secs},
                                    std::pair{"stop_grace_secs", options_.stop_grace_secs}})
    if (!(value >= 0))
      fail(Code::kInvalidArgument, fmt::format("[B5089] {} is {}; it must be >= 0 seconds", name, value));
}

// ---- the pieces ----

Output Supervisor::first_of(const char* collection) {
  const std::vector<Port>& found = graph_.collection(collection);
  if (found.empty()) return Output();
  if (found.size() > 1)
    environment_.log.info(
        "supervisor", fmt::format("the graph's collection '{}' has {} items; the first one, '{}', is used", collection,
                                  found.size(), graph_.port_name(found[0])));
  return graph_.output(found[0]);
}

void Supervisor::find_global_step() {
  if (options_.global_step) {
    global_step_ = *options_.global_step;
  } else {
    global_step_ = first_of(collections::kGlobalStep);
    if (!global_step_) {
      const Node* named = graph_.find_node("global_step");
      const bool is_step = named != nullptr && named->op->effect == Effect::kVariable &&
                           named->outputs[0].first == DType::kInt64 && named->outputs[0].second.rank() == 0;
      if (is_step) global_step_ = graph_.output({named->id, 0});
    }
  }
  // Sessions and savers look for the global step there.
  if (global_step_) graph_.replace_collection(collections::kGlobalStep, {graph_.resolve(global_step_.raw())});
}

void Supervisor::find_pieces() {
  const belay::Graph g = graph_.handle();
  const auto find = [&](const OptionalPiece& given, const char* collection, Output (*make)(const belay::Graph&)) {
    if (given) return *given;
    Output piece = first_of(collection);
    if (piece || make == nullptr) return piece;
    piece = make(g);
    if (piece) g.collect(collection, piece);
    return piece;
  };
  init_op_ = find(options_.init_op, collections::kInitOp, default_init_op);
  ready_op_ = find(options_.ready_op, collections::kReadyOp, default_ready_op);
  ready_for_local_init_op_ = find(options_.ready_for_local_init_op, collections::kReadyForLocalInitOp, nullptr);
  local_init_op_ = find(options_.local_init_op, collections::kLocalInitOp, default_local_init_op);
  summary_op_ = find(options_.summary_op, collections::kSummaryOp, default_summary_op);
  graph_.finalize();
}

// ---- sessions ----

std::shared_ptr<DirectSession> Supervisor::prepare_or_wait_for_session(const PrepareOptions& options) {
  coordinator_->clear_stop();
  std::shared_ptr<DirectSession> session;
  if (options_.is_chief) {
    services_->open_events(graph_);
    PrepareArgs args;
    args.target = options.target;
    args.init_op = init_op_;
    args.init_feeds = options_.init_feeds;
    if (options_.init_fn)
      args.init_fn = [this](DirectSession& made) {
        belay::Session handle = made.handle();
        options_.init_fn(handle);
      };
    args.saver = saver_;
    args.checkpoint_dir = options_.logdir;
    args.wait_for_checkpoint = options.wait_for_checkpoint;
    args.max_wait_secs = options.max_wait_secs;
    session = options_.session_manager->prepare_session(args).session;
    if (options.start_standard_services) start_standard_services(session);
  } else {
    session = options_.session_manager->wait_for_session(options.target, options.max_wait_secs).session;
  }
  if (options.start_standard_services) start_queue_runners(*session);
  return session;
}

void Supervisor::managed_session(const std::function<void(DirectSession&)>& body, const ManagedOptions& options) {
  std::shared_ptr<DirectSession> session;
  std::optional<Error> late;
  const auto report = [&](const Error& error) {
    // The coordinator keeps only the first request. An error after a stop request would be lost there.
    if (should_stop() && !coordinator_->requested_exception() && error.code() != Code::kCancelled &&
        !is_end_of_input(error.code()))
      late = error;
    request_stop(error);
  };
  const auto close = [&]() noexcept {
    if (session != nullptr) session->close();
  };
  try {
    try {
      session = prepare_or_wait_for_session(
          {.target = options.target, .start_standard_services = options.start_standard_services});
      body(*session);
    } catch (...) {
      report(current_error());
    }
    stop({.close_summary_writer = options.close_summary_writer});
  } catch (...) {
    close();
    throw;
  }
  close();
  if (late) throw Error(*late);
}

void Supervisor::stop(const StopOptions& options) {
  coordinator_->request_stop("the supervisor is stopping");
  const auto close_events = [&] {
    if (options.close_summary_writer) services_->close_events();
  };
  try {
    const std::vector<std::string> alive =
        coordinator_->join(options.threads, {options_.stop_grace_secs, options.ignore_live_threads});
    if (!alive.empty())
      environment_.log.warning("supervisor", "threads are still running after the grace period: " + joined(alive));
  } catch (...) {
    close_events();
    throw;
  }
  close_events();
}

// ---- services ----

std::vector<std::shared_ptr<Joinable>> Supervisor::start_standard_services(
    const std::shared_ptr<DirectSession>& session) {
  if (!options_.is_chief)
    fail(Code::kFailedPrecondition,
         "[B5089] Only the chief starts the standard services; this supervisor has is_chief = false");
  if (options_.logdir.empty()) {
    environment_.log.warning("supervisor", "the standard services need a logdir to write to; none is started");
    return {};
  }
  services_->open_events(graph_);
  if (global_step_) services_->add_start(session->global_step());
  std::vector<std::shared_ptr<Joinable>> threads;
  if (options_.save_summaries_secs > 0 && services_->writes_events()) {
    if (summary_op_)
      threads.push_back(services_->start_summaries(*coordinator_, session, options_.save_summaries_secs));
    if (global_step_)
      threads.push_back(services_->start_step_counter(*coordinator_, session, options_.save_summaries_secs));
  }
  if (options_.save_model_secs > 0 && saver_ != nullptr)
    threads.push_back(services_->start_checkpoints(*coordinator_, session, options_.save_model_secs));
  return threads;
}

std::vector<std::shared_ptr<Joinable>> Supervisor::start_queue_runners(DirectSession& session) {
  return runtime::start_queue_runners(session, coordinator_.get());
}

std::shared_ptr<Joinable> Supervisor::loop(double interval_secs, std::function<void()> f) {
  return LooperThread::start(*coordinator_, interval_secs, {.run_loop = std::move(f)}, "supervisor_loop");
}

void Supervisor::summary_computed(const DirectSession& session, std::string_view summary, std::int64_t step) {
  if (!options_.is_chief)
    fail(Code::kFailedPrecondition, "[B5089] Writing a summary requires a summary writer, and only the chief has one");
  if (step < 0) step = global_step_ ? session.global_step() : 0;
  services_->add_summary(summary, std::max<std::int64_t>(step, 0));
}

}  // namespace belay::runtime
