// SPDX-License-Identifier: Apache-2.0
// A session without hooks, checkpoints and recovery: TensorFlow's Session, Coordinator and queue runners, for programs
// that do all around a run themselves. Trainings take MonitoredTrainingSession (training_session.h).
//
//   belay::OwnedGraph graph;
//   const Output sum = ops::add(ops::constant(graph, Tensor(1.0f)), ops::constant(graph, Tensor(2.0f)));
//   belay::OwnedSession session(graph);
//   const float value = session.run({sum})[0].scalar<float>();      // 3
//
// belay/session.h has Session and Coordinator, handles that own nothing: what a hook gets. An OwnedSession is a Session
// and an OwnedCoordinator a Coordinator, each with what only an owner may do.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "belay/ops/queues.h"
#include "belay/runtime/graph.h"
#include "belay/runtime/precision.h"
#include "belay/session.h"

namespace belay {

using runtime::Precision;  // NOLINT(misc-unused-using-decls): for programs

// A thread-safe stop flag that the threads of a program share, and the place where their first error is kept.
//
//   belay::OwnedCoordinator coordinator;
//   coordinator.start_thread("loader", [&] { while (!coordinator.should_stop()) load(); });
//   ...
//   coordinator.request_stop("enough");
//   coordinator.join();                          // throws what a thread failed with
//
// Functions of Coordinator (should_stop, request_stop, wait_for_stop, register_thread) may be called by any thread, and
// so may those below, but join, which one thread calls. It outlives its threads, so join before it is destroyed.
class OwnedCoordinator : public Coordinator {
 public:
  // Errors with these codes stop the threads and are no failure. OUT_OF_RANGE is the end of an input.
  explicit OwnedCoordinator(std::vector<Code> clean_stop_codes = {Code::kOutOfRange});
  ~OwnedCoordinator();
  OwnedCoordinator(const OwnedCoordinator&) = delete;
  OwnedCoordinator& operator=(const OwnedCoordinator&) = delete;

  // Starts a thread that join waits for. What `body` throws is reported as with request_stop(error): it stops all.
  void start_thread(const std::string& name, std::function<void()> body);
  // Calls `f` now and then every `interval_secs` on a thread of its own, until somebody asks to stop; a call that took
  // longer is followed at once by those that are overdue. 0: one call behind the other.
  void loop(double interval_secs, std::function<void()> f, const std::string& name = "looper");
  // Calls `f` on this thread. What it throws is reported as with request_stop(error) and goes no further.
  void stop_on_exception(const std::function<void()>& f);

  struct JoinOptions {
    // How long threads have to end behind a request to stop. Two minutes, as TensorFlow: long enough for a checkpoint.
    double stop_grace_period_secs = 120;
    // Threads that are still running then are returned instead of being an error.
    bool ignore_live_threads = false;
  };
  // Waits until every thread has ended, or a stop was requested and the grace period is over. Then it throws the first
  // error that was reported, else FAILED_PRECONDITION with the names of threads that are still running. Returns those.
  std::vector<std::string> join(const JoinOptions& options);
  std::vector<std::string> join() { return join(JoinOptions()); }

  // What the first request_stop said; empty: nothing, or there was none.
  std::string stop_reason() const;
  // The error that join throws, or has thrown; none: no thread failed.
  std::optional<Error> requested_exception() const;
  // Forgets the request, its error and the join, for a further round of threads.
  void clear_stop();

  // For Belay itself: what is behind it.
  struct Insides;
  Insides& insides() const noexcept { return *insides_; }

 private:
  explicit OwnedCoordinator(std::unique_ptr<Insides> insides);

  std::unique_ptr<Insides> insides_;
};

struct SessionOptions {
  // Of the kernels of a run. One, because runs of such a session often come from several threads at once.
  int threads = 1;
  // Random operations draw the same numbers in each session with the same seed, graph and sequence of runs.
  std::uint64_t seed = 42;
  // Of products, convolutions and recurrent cells.
  Precision precision = Precision::kFloat32;
};

// Variables, and runs over a graph. run() (belay/session.h) may be called from several threads: each run changes all
// the variables that it writes at its end, or, where it fails or is cancelled, none. Nothing is initialized:
//
//   session.run({graph.global_variables_initializer()});    // made before the session, which freezes the graph
class OwnedSession : public Session {
 public:
  // Freezes the graph as long as the session lives, and makes its variables. The graph outlives it.
  explicit OwnedSession(OwnedGraph& graph, const SessionOptions& options = {});
  // Cancels the runs that are under way, and waits for their end.
  ~OwnedSession();
  OwnedSession(const OwnedSession&) = delete;
  OwnedSession& operator=(const OwnedSession&) = delete;

  // Cancels the runs that are under way (CANCELLED) and refuses new ones. Twice is harmless. Any thread.
  void close();
  bool closed() const noexcept;
  // Starts the threads that fill the graph's queues (add_queue_runner, inputs). The coordinator stops them; join it
  // before the session goes.
  void start_queue_runners(OwnedCoordinator& coordinator);

  // For Belay itself: what is behind it.
  struct Insides;
  Insides& insides() const noexcept { return *insides_; }

 private:
  explicit OwnedSession(std::unique_ptr<Insides> insides);

  std::unique_ptr<Insides> insides_;
};

// TensorFlow's QueueRunner: operations that fill a queue, each run again and again by a thread.
struct QueueRunner {
  ops::QueueRef queue;
  // One thread for each. The same one several times is several threads.
  std::vector<Output> enqueue_ops;
  // Runs when the last thread has ended. Empty: closes the queue; what is in it can still be taken out.
  Output close_op = {};
  // Runs when the coordinator stops, so that no thread waits in a full queue. Empty: closes it, cancelling those.
  Output cancel_op = {};
  // Errors with these codes end a thread and are no failure; behind another one readers of the queue get what is left,
  // then that error.
  std::vector<Code> queue_closed_codes = {Code::kOutOfRange};
};

// Adds it to the graph, which is open: sessions that start queue runners start it, monitored sessions by themselves. In
// an Estimator's input function the graph is InputArgs::graph.
void add_queue_runner(const Graph& graph, const QueueRunner& runner);

}  // namespace belay
