// SPDX-License-Identifier: Apache-2.0
// TensorFlow's Supervisor, the older way to run a session: no hooks, no recovery, and services on timers during the
// training loop. It is for existing programs; a new program uses MonitoredTrainingSession.
//
//   belay::Supervisor supervisor(graph, {.logdir = "/tmp/run"});
//   supervisor.managed_session([&](belay::Session& session) {
//     while (!supervisor.should_stop()) session.run({train_op});
//   });
//
// managed_session makes these calls: prepare_or_wait_for_session, the body, request_stop with the body's error, and
// stop. Then it closes the session. The end of input (OUT_OF_RANGE, STOP) is a normal end. It throws the first other
// error of the body, a service or a queue runner. It throws ABORTED and UNAVAILABLE too: its caller must loop. Nothing
// is saved at the end: the last checkpoint may be save_model_secs old. docs/guide/supervisor.md states the cost of the
// services.
//
// Threads: one thread makes, prepares and stops; all other functions may be called from any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "belay/runtime/graph.h"
#include "belay/runtime/summary_writer.h"
#include "belay/runtime/supervisor_options.h"
#include "belay/runtime/training_session.h"

namespace belay {

// An operation in one of three forms. std::nullopt leaves it to the supervisor: the first of its collection, else the
// default. Otherwise it is given, or left out (an empty Output).
using OptionalPiece = std::optional<Output>;

// The options of a Supervisor.
struct SupervisorOptions {
  OptionalPiece init_op = {};
  Feeds init_feeds = {};
  // Called after the init operation, if no checkpoint is restored.
  std::function<void(Session&)> init_fn = {};
  OptionalPiece ready_op = {};
  OptionalPiece ready_for_local_init_op = {};  // default: none, unless the collection has one
  OptionalPiece local_init_op = {};
  OptionalPiece summary_op = {};
  OptionalPiece global_step = {};  // default: of the collection, else a variable named global_step
  // False: waits for the chief's variables, and keeps nothing.
  bool is_chief = true;
  // Directory of checkpoints and events; a relative path is below the current directory. Empty: none.
  std::string logdir = {};
  bool writes_events = true;
  // The graph's plugin that writes tensors into files. Empty, or a graph without variables to save: no checkpoints.
  std::string saver = "safetensors";
  // The number of checkpoints to keep, and the reaction to a state that cannot be saved. The period is save_model_secs.
  CheckpointSettings checkpoint = {};
  // Periods of the services, with TensorFlow's numbers. 0: no summaries and no steps per second; no checkpoints.
  double save_summaries_secs = 120;
  double save_model_secs = 600;
  // Largest delay until a record is in the event file; a checkpoint writes the records too.
  double events_flush_secs = 120;
  double recovery_wait_secs = 30;  // between two looks while it waits
  double stop_grace_secs = 120;    // for threads to end
  int threads = 0;                 // 0: all cores that the process may use
  std::uint64_t seed = 42;
  LogOptions log = {};
};

// Prepares sessions and runs services for them.
class Supervisor {
 public:
  // Finds or makes the pieces, and freezes the graph, which must outlive it. It uses the graph's plugins. It throws if
  // another run holds the directory. INVALID_ARGUMENT: a negative period or grace period.
  explicit Supervisor(OwnedGraph& graph, const SupervisorOptions& options = {});
  // Stops, within the grace period; errors go into the log.
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  using ManagedOptions = ManagedSessionOptions;
  // Runs `body` with a session that is ready, as the top of this file describes. The session is valid in the body.
  void managed_session(const std::function<void(Session&)>& body, const ManagedOptions& options);
  void managed_session(const std::function<void(Session&)>& body) { managed_session(body, ManagedOptions()); }

  using PrepareOptions = PrepareSessionOptions;
  // Forgets an earlier stop and returns a session that is ready to run. The chief restores or initializes it, and
  // starts its services. A worker gets it when the chief's variables are ready. It is valid until the next one is
  // prepared, or the supervisor ends.
  Session prepare_or_wait_for_session(const PrepareOptions& options);
  Session prepare_or_wait_for_session() { return prepare_or_wait_for_session(PrepareOptions()); }
  // Starts threads for checkpoints, summaries and steps per second, if the session was prepared without them. Without a
  // logdir it warns and starts none. FAILED_PRECONDITION: this is not the chief.
  void start_standard_services();
  // Starts the graph's queue runners for that session.
  void start_queue_runners();

  // Adds a service of the program: f is called at once and then at a fixed rate on a new thread, until the stop.
  // interval 0: one call after the other. An exception of f stops everything.
  void loop(double interval_secs, std::function<void()> f);
  // Writes a Summary message that the training computed in that session. step -1: the session's step.
  // FAILED_PRECONDITION: this is not the chief, or no event file is open.
  void summary_computed(std::string_view summary, std::int64_t step = -1);
  // The services' event file, for the program's own records. It is empty (false) if this is not the chief or keeps no
  // events.
  SummaryWriter summary_writer() const;

  struct StopOptions {
    bool close_summary_writer = true;
    bool ignore_live_threads = false;  // false: they are an error
  };
  // Asks all threads to stop and joins them within the grace period. It throws the first reported error. Without one it
  // throws FAILED_PRECONDITION with the names of threads that still run.
  void stop(const StopOptions& options);
  void stop() { stop(StopOptions()); }
  void request_stop(const std::string& reason = "");
  void request_stop(const Error& error);
  bool should_stop() const noexcept;
  // Waits for a stop, at most `timeout`; returns should_stop().
  bool wait_for_stop(std::chrono::nanoseconds timeout);

  // The coordinator of its threads: register more there.
  Coordinator coordinator();
  bool is_chief() const noexcept;
  // The pieces that were found or made; empty: none.
  const Output& init_op() const noexcept;
  const Output& ready_op() const noexcept;
  const Output& ready_for_local_init_op() const noexcept;
  const Output& local_init_op() const noexcept;
  const Output& summary_op() const noexcept;
  const Output& global_step() const noexcept;

 private:
  struct Insides;
  std::unique_ptr<Insides> insides_;
};

}  // namespace belay
