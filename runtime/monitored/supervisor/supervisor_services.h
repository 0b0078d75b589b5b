// SPDX-License-Identifier: Apache-2.0
// The services of a supervisor: checkpoints, summaries and the number of steps per second. Each one acts at once and
// then on a timer, in its own thread. They share one event file. [any thread]
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/events/event_writer.h"
#include "runtime/monitored/run/run_directory.h"
#include "runtime/monitored/saving/run_saver.h"
#include "runtime/platform/threads/coordinator.h"

namespace belay::runtime {

class SupervisorServices : public std::enable_shared_from_this<SupervisorServices> {
 public:
  struct Options {
    std::shared_ptr<RunDirectory> directory = {};  // locked by the caller; null: nothing is kept
    bool writes_events = true;
    // The saver of this directory. Null: no checkpoints. The session's creation uses it, and after that only the
    // checkpoint thread.
    std::shared_ptr<RunSaver> saver = {};
    Output summary_op = {};
    bool counts_steps = true;  // the graph has a global step
    double events_flush_secs = 120;
  };
  // Shared, so it lives as long as a thread of the services.
  SupervisorServices(const RunEnvironment& environment, Options options);

  // Returns true if the services write an event file. It has at least the version, the graph, added records and STOP.
  bool writes_events() const noexcept { return options_.directory != nullptr && options_.writes_events; }
  // Makes a new file, unless one is open, and writes the graph into it.
  void open_events(const NodeGraph& graph);
  void close_events();
  // FAILED_PRECONDITION: no file is open.
  void add_summary(std::string_view summary, std::int64_t step);
  void add_start(std::int64_t step);
  // Writes a program's own records: calls `add` with the open file. If no file is open, it warns.
  void add_own(const std::function<void(EventWriter&)>& add);
  void flush_events();

  // Returns the threads, registered with the coordinator and started. Period 0: no such thread. An error of one stops
  // the coordinator, except for a checkpoint that cannot be written (CheckpointSettings::on_save_error).
  std::shared_ptr<Joinable> start_summaries(Coordinator& coordinator, const std::shared_ptr<DirectSession>& session,
                                            double period_secs);
  std::shared_ptr<Joinable> start_step_counter(Coordinator& coordinator, const std::shared_ptr<DirectSession>& session,
                                               double period_secs);
  std::shared_ptr<Joinable> start_checkpoints(Coordinator& coordinator, const std::shared_ptr<DirectSession>& session,
                                              double period_secs);

 private:
  void write_summary(DirectSession& session);
  void write_checkpoint(DirectSession& session);
  void write_steps_per_second(DirectSession& session);
  std::int64_t step_of(const DirectSession& session) const;

  const RunEnvironment& environment_;
  const Options options_;
  HookSet no_hooks_;
  std::mutex events_mutex_;
  std::unique_ptr<EventWriter> events_;
  // For the step counter's thread only.
  std::int64_t counted_at_ns_ = 0;
  std::int64_t counted_step_ = 0;
  int rates_logged_ = 0;
};

}  // namespace belay::runtime
