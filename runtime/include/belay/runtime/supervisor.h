// SPDX-License-Identifier: Apache-2.0
// TensorFlow's Supervisor, the older way to run a session: no hooks, no recovery; services on timers beside the
// training loop. For programs that are written so; a new one takes MonitoredTrainingSession.
//
//   belay::Supervisor supervisor(graph, {.logdir = "/tmp/run"});
//   supervisor.managed_session([&](belay::Session& session) {
//     while (!supervisor.should_stop()) session.run({train_op});
//   });
//
// managed_session is: prepare_or_wait_for_session, the body, request_stop with the body's error, stop, and closing the
// session. The end of input (OUT_OF_RANGE, STOP) is a good end; any other error of the body, a service or a queue
// runner comes out, the first of them. ABORTED and UNAVAILABLE come out, too: its caller loops. Nothing is saved at the
// end: the last checkpoint may be save_model_secs old. What the services cost beside training:
// docs/guide/supervisor.md.
//
// Threads: one makes, prepares and stops; the rest may be called by any.
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

// An operation that may be left to the supervisor (std::nullopt: the first of its collection, else the default), given,
// or left out (an empty Output).
using OptionalPiece = std::optional<Output>;

struct SupervisorOptions {
  OptionalPiece init_op = {};
  Feeds init_feeds = {};
  // Called behind the init operation, where no checkpoint is restored.
  std::function<void(Session&)> init_fn = {};
  OptionalPiece ready_op = {};
  OptionalPiece ready_for_local_init_op = {};  // default: none, unless the collection has one
  OptionalPiece local_init_op = {};
  OptionalPiece summary_op = {};
  OptionalPiece global_step = {};  // default: of the collection, else a variable named global_step
  // Others wait for the chief's variables, and keep nothing.
  bool is_chief = true;
  // Where checkpoints and events go; a path that is not absolute is below the current directory. Empty: nowhere.
  std::string logdir = {};
  bool writes_events = true;
  // The graph's plugin that writes tensors into files; empty, or a graph without variables to save: no checkpoints.
  std::string saver = "safetensors";
  // How many are kept, and what a state does that cannot be saved. The period is save_model_secs.
  CheckpointSettings checkpoint = {};
  // Periods of the services, TensorFlow's numbers. 0: no summaries and no steps per second; no checkpoints.
  double save_summaries_secs = 120;
  double save_model_secs = 600;
  // What is added to the event file is in it after so long at the latest, and behind each checkpoint.
  double events_flush_secs = 120;
  double recovery_wait_secs = 30;  // between two looks at what is waited for
  double stop_grace_secs = 120;    // for threads to end
  int threads = 0;                 // 0: all cores that the process may use
  std::uint64_t seed = 42;
  LogOptions log = {};
};

class Supervisor {
 public:
  // Finds and makes the pieces, and freezes the graph, which outlives it. Plugins are the graph's. An error where
  // another run holds the directory; INVALID_ARGUMENT for a period or a grace that is negative.
  explicit Supervisor(OwnedGraph& graph, const SupervisorOptions& options = {});
  // Stops, within the grace period; errors go into the log.
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  using ManagedOptions = ManagedSessionOptions;
  // Runs `body` with a session that is ready; see the head of this file. The session is valid in the body.
  void managed_session(const std::function<void(Session&)>& body, const ManagedOptions& options);
  void managed_session(const std::function<void(Session&)>& body) { managed_session(body, ManagedOptions()); }

  using PrepareOptions = PrepareSessionOptions;
  // Forgets an earlier stop; a session that is ready to run: the chief's restored or initialized, with its services; a
  // worker's, when the chief's variables are ready. Valid until the next one is prepared, or the supervisor goes.
  Session prepare_or_wait_for_session(const PrepareOptions& options);
  Session prepare_or_wait_for_session() { return prepare_or_wait_for_session(PrepareOptions()); }
  // Threads for checkpoints, summaries and steps per second of that session, for one that was prepared without them.
  // FAILED_PRECONDITION where this is no chief; without a logdir a warning and no threads.
  void start_standard_services();
  // Those of the graph, for that session.
  void start_queue_runners();

  // A service of the program's: f, called at once and then at a fixed rate on a thread of its own, until the stop
  // (interval 0: one call behind the other). What it throws stops everything.
  void loop(double interval_secs, std::function<void()> f);
  // Writes a Summary message, which the training computed, for that session. step -1: the session's.
  // FAILED_PRECONDITION where this is no chief or has no event file open.
  void summary_computed(std::string_view summary, std::int64_t step = -1);
  // What the services write to, for the program's own events; empty (false) where this is no chief or keeps no events.
  SummaryWriter summary_writer() const;

  struct StopOptions {
    bool close_summary_writer = true;
    bool ignore_live_threads = false;  // else they are an error
  };
  // Asks all to stop and joins them within the grace period. Throws the first error that was reported, else
  // FAILED_PRECONDITION naming threads that still run.
  void stop(const StopOptions& options);
  void stop() { stop(StopOptions()); }
  void request_stop(const std::string& reason = "");
  void request_stop(const Error& error);
  bool should_stop() const noexcept;
  // Waits for a stop, at most `timeout`; returns should_stop().
  bool wait_for_stop(std::chrono::nanoseconds timeout);

  // Of its threads: register more there.
  Coordinator coordinator();
  bool is_chief() const noexcept;
  // The pieces as they were found or made; empty: none.
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
