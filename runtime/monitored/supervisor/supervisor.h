// SPDX-License-Identifier: Apache-2.0
// Runs a session in the way from before monitored sessions: no hooks and no recovery, but services on timers beside the
// training loop. It is for existing programs of that form. A new program uses MonitoredTrainingSession.
//
//   Supervisor supervisor(graph, environment, setup);
//   supervisor.managed_session([&](DirectSession& session) {
//     while (!supervisor.should_stop()) session.handle().run({train_op});
//   });
//
// managed_session calls prepare_or_wait_for_session, the body, request_stop with the body's error, and stop. It then
// closes the session, and drops the errors of that. The end of input (OUT_OF_RANGE, STOP) is a good end. It throws the
// first other error of the body, a service or a queue runner. After a stop request it throws the body's error. It does
// not throw the CANCELLED of a run that the stop ended. It throws ABORTED and UNAVAILABLE, too: a supervisor does not
// recover, its caller loops. Nothing is saved at the end: the last checkpoint may be save_model_secs old.
//
// The chief has services: a thread each for checkpoints, summaries and steps per second, and those that loop() adds.
// The first action of each comes at once. They have costs beside training:
//   * The summary service runs the summary operation in its own run, while the training continues. That run has its own
//     plan and arena. It takes as much memory as its operations need for one batch, besides the training's. It uses one
//     thread and takes the processor's time from the training.
//   * It gets no feeds: a summary that needs a placeholder fails, and stops everything. One that depends on a queue
//     takes a batch out of it, and the training does not see that batch. Summaries of values that the training run
//     computes belong to the training run: fetch them there, and pass them to summary_computed.
//   * A checkpoint needs a copy of the variables, in memory that every save uses again. It delays the training's writes
//     while it copies, not while it writes.
//
// Threads: one thread makes, prepares and stops it. Any thread may call the rest.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "belay/runtime/supervisor.h"

#include "runtime/data/queue_runner.h"
#include "runtime/monitored/saving/scaffold.h"
#include "runtime/monitored/saving/session_manager.h"
#include "runtime/monitored/supervisor/supervisor_services.h"
#include "runtime/platform/threads/coordinator.h"

namespace belay::runtime {

// A program's options, and the parts that only the host has. The path of the logdir is absolute.
struct SupervisorSetup : SupervisorOptions {
  std::optional<RunSaverOptions> run_saver = {};         // none, or a graph without variables to save: no checkpoints
  std::shared_ptr<SessionManager> session_manager = {};  // none: made of the pieces
};

class Supervisor {
 public:
  // Finds and makes the pieces, and freezes the graph. RunInUse if another run holds the directory. INVALID_ARGUMENT
  // for a negative period or grace.
  Supervisor(NodeGraph& graph, const RunEnvironment& environment, SupervisorSetup setup = {});
  // Stops, within the grace period; errors go into the log.
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  using PrepareOptions = PrepareSessionOptions;
  // Forgets an earlier stop, and returns a session ready to run. The chief's is restored or initialized, and its
  // services run. A worker's is ready when the chief's variables are.
  std::shared_ptr<DirectSession> prepare_or_wait_for_session(const PrepareOptions& options);
  std::shared_ptr<DirectSession> prepare_or_wait_for_session() { return prepare_or_wait_for_session(PrepareOptions()); }

  using ManagedOptions = ManagedSessionOptions;
  void managed_session(const std::function<void(DirectSession&)>& body, const ManagedOptions& options);
  void managed_session(const std::function<void(DirectSession&)>& body) { managed_session(body, ManagedOptions()); }

  // Returns the services' threads. FAILED_PRECONDITION: this is no chief. Without a logdir it warns and starts no
  // threads.
  std::vector<std::shared_ptr<Joinable>> start_standard_services(const std::shared_ptr<DirectSession>& session);
  // Starts those of the session's graph.
  std::vector<std::shared_ptr<Joinable>> start_queue_runners(DirectSession& session);
  // Starts a service of the caller. It calls f at once and then at a fixed rate until the stop (interval 0: back to
  // back).
  std::shared_ptr<Joinable> loop(double interval_secs, std::function<void()> f);
  // Writes a Summary message that the training computed. step -1: the session's. FAILED_PRECONDITION: this is no chief
  // or has no event file open.
  void summary_computed(const DirectSession& session, std::string_view summary, std::int64_t step = -1);

  struct StopOptions {
    std::vector<std::shared_ptr<Joinable>> threads = {};  // besides the registered ones
    bool close_summary_writer = true;
    bool ignore_live_threads = false;
  };
  // Asks all to stop and joins them within the grace period. In every case STOP is then written to the event file,
  // which is closed. Throws the first reported error, or else FAILED_PRECONDITION with the names of threads that still
  // run.
  void stop(const StopOptions& options);
  void stop() { stop(StopOptions()); }
  void request_stop(const std::string& reason = "") { coordinator_->request_stop(reason); }
  void request_stop(const Error& error) { coordinator_->request_stop(error); }
  bool should_stop() const noexcept { return coordinator_->should_stop(); }
  bool wait_for_stop(std::int64_t timeout_ns = -1) { return coordinator_->wait_for_stop(timeout_ns); }

  Coordinator& coordinator() noexcept { return *coordinator_; }
  bool is_chief() const noexcept { return options_.is_chief; }
  // The pieces as they were found or made. Empty: none.
  const Output& init_op() const noexcept { return init_op_; }
  const Output& ready_op() const noexcept { return ready_op_; }
  const Output& ready_for_local_init_op() const noexcept { return ready_for_local_init_op_; }
  const Output& local_init_op() const noexcept { return local_init_op_; }
  const Output& summary_op() const noexcept { return summary_op_; }
  const Output& global_step() const noexcept { return global_step_; }
  // Returns the writer of the events. Null: this is no chief or keeps none.
  std::shared_ptr<SupervisorServices> summary_writer() const {
    return options_.is_chief && services_->writes_events() ? services_ : nullptr;
  }
  // It is null if nothing is saved. While the checkpoint service runs, only that thread may use it.
  const std::shared_ptr<RunSaver>& saver() const noexcept { return saver_; }

 private:
  void find_pieces();
  Output first_of(const char* collection);
  void find_global_step();
  void check_periods() const;

  NodeGraph& graph_;
  const RunEnvironment& environment_;
  SupervisorSetup options_;
  Output init_op_;
  Output ready_op_;
  Output ready_for_local_init_op_;
  Output local_init_op_;
  Output summary_op_;
  Output global_step_;
  std::shared_ptr<Coordinator> coordinator_;
  std::shared_ptr<RunSaver> saver_;
  std::shared_ptr<SupervisorServices> services_;  // its threads keep it
};

}  // namespace belay::runtime
