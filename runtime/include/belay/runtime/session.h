// SPDX-License-Identifier: Apache-2.0
// A session without hooks, checkpoints and recovery: TensorFlow's Session, Coordinator and queue runners. It is for
// programs that do everything around a run themselves. Trainings use MonitoredTrainingSession (training_session.h).
//
//   belay::OwnedGraph graph;
//   const Output sum = ops::add(ops::constant(graph, Tensor(1.0f)), ops::constant(graph, Tensor(2.0f)));
//   belay::OwnedSession session(graph);
//   const float value = session.run({sum})[0].scalar<float>();      // 3
//
// belay/session.h has Session and Coordinator, handles that own nothing; hooks get those. An OwnedSession is a Session
// and an OwnedCoordinator a Coordinator. Each adds the functions that only an owner may call.
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

// A thread-safe stop flag that the threads of a program share. It also keeps their first error.
//
//   belay::OwnedCoordinator coordinator;
//   coordinator.start_thread("loader", [&] { while (!coordinator.should_stop()) load(); });
//   ...
//   coordinator.request_stop("enough");
//   coordinator.join();                          // throws a thread's error
//
// Functions of Coordinator (should_stop, request_stop, wait_for_stop, register_thread) may be called from any thread.
// So may those below, except join, which one thread calls. It must outlive its threads, so join before it is destroyed.
class OwnedCoordinator : public Coordinator {
 public:
  // Errors with these codes stop the threads without a failure. OUT_OF_RANGE is the end of an input.
  explicit OwnedCoordinator(std::vector<Code> clean_stop_codes = {Code::kOutOfRange});
  ~OwnedCoordinator();
  OwnedCoordinator(const OwnedCoordinator&) = delete;
  OwnedCoordinator& operator=(const OwnedCoordinator&) = delete;

  // Starts a thread that join waits for. An exception of `body` is reported like request_stop(error): it stops all.
  void start_thread(const std::string& name, std::function<void()> body);
  // Calls `f` now and then every `interval_secs` on a new thread, until a stop is requested. After a call that took
  // longer, the overdue calls follow at once. 0: one call after the other.
  void loop(double interval_secs, std::function<void()> f, const std::string& name = "looper");
  // Calls `f` on this thread. An exception is reported like request_stop(error) and not thrown.
  void stop_on_exception(const std::function<void()>& f);

  struct JoinOptions {
    // How long threads may take to end after a request to stop. Two minutes, as in TensorFlow: enough for a checkpoint.
    double stop_grace_period_secs = 120;
    // If true, threads that still run then are returned; otherwise they are an error.
    bool ignore_live_threads = false;
  };
  // Waits until every thread has ended, or a stop was requested and the grace period is over. Then it throws the first
  // reported error. Without one it throws FAILED_PRECONDITION with the names of threads that still run. With
  // ignore_live_threads it returns those names.
  std::vector<std::string> join(const JoinOptions& options);
  std::vector<std::string> join() { return join(JoinOptions()); }

  // The reason of the first request_stop; empty: no reason, or no request.
  std::string stop_reason() const;
  // The error that join throws or has thrown; empty: no thread failed.
  std::optional<Error> requested_exception() const;
  // Forgets the request, its error and the join, for another round of threads.
  void clear_stop();

  // For Belay itself.
  struct Insides;
  Insides& insides() const noexcept { return *insides_; }

 private:
  explicit OwnedCoordinator(std::unique_ptr<Insides> insides);

  std::unique_ptr<Insides> insides_;
};

struct SessionOptions {
  // Threads of the kernels of a run. One, because several threads often run such a session at once.
  int threads = 1;
  // Random operations draw the same numbers in each session with the same seed, graph and sequence of runs.
  std::uint64_t seed = 42;
  // Precision of products, convolutions and recurrent cells.
  Precision precision = Precision::kFloat32;
};

// Variables, and runs over a graph. run() (belay/session.h) may be called from several threads. Each run changes all
// the variables that it writes at its end. If it fails or is cancelled, it changes none. The session initializes
// nothing by itself:
//
//   session.run({graph.global_variables_initializer()});    // made before the session, which freezes the graph
class OwnedSession : public Session {
 public:
  // Freezes the graph as long as the session lives, and makes its variables. The graph must outlive it.
  explicit OwnedSession(OwnedGraph& graph, const SessionOptions& options = {});
  // Cancels the runs in progress, and waits for their end.
  ~OwnedSession();
  OwnedSession(const OwnedSession&) = delete;
  OwnedSession& operator=(const OwnedSession&) = delete;

  // Cancels the runs in progress (CANCELLED) and refuses new ones. A second call has no effect. [any]
  void close();
  bool closed() const noexcept;
  // Starts the threads that fill the graph's queues (add_queue_runner, inputs). The coordinator stops them; join it
  // before the session ends.
  void start_queue_runners(OwnedCoordinator& coordinator);

  // For Belay itself.
  struct Insides;
  Insides& insides() const noexcept { return *insides_; }

 private:
  explicit OwnedSession(std::unique_ptr<Insides> insides);

  std::unique_ptr<Insides> insides_;
};

// TensorFlow's QueueRunner: operations that fill a queue. A thread runs each repeatedly.
struct QueueRunner {
  ops::QueueRef queue;
  // One thread for each; an operation may occur several times, for several threads.
  std::vector<Output> enqueue_ops;
  // Runs when the last thread has ended. Empty: closes the queue; its elements can still be taken.
  Output close_op = {};
  // Runs when the coordinator stops, so no thread waits in a full queue. Empty: closes the queue and cancels waiting
  // threads.
  Output cancel_op = {};
  // Errors with these codes end a thread without a failure. After another error readers of the queue get the remaining
  // elements, then that error.
  std::vector<Code> queue_closed_codes = {Code::kOutOfRange};
};

// Adds the runner to the graph, which must be open. Sessions that start queue runners start it; monitored sessions do
// so by themselves. In an Estimator's input function the graph is InputArgs::graph.
void add_queue_runner(const Graph& graph, const QueueRunner& runner);

}  // namespace belay
