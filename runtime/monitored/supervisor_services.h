// SPDX-License-Identifier: Apache-2.0
// What a supervisor does beside training: checkpoints, summaries and the number of steps per second, each written at
// once and then on a timer by a thread of its own. They share one event file. [any thread]
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
#include "runtime/monitored/run_directory.h"
#include "runtime/monitored/run_saver.h"
#include "runtime/platform/coordinator.h"

namespace belay::runtime {

class SupervisorServices : public std::enable_shared_from_this<SupervisorServices> {
 public:
  struct Options {
    std::shared_ptr<RunDirectory> directory = {};  // locked by the caller; null: nothing is kept
    bool writes_events = true;
    // Of that directory; null: no checkpoints. Used by the session's creation, then by the checkpoint thread alone.
    std::shared_ptr<RunSaver> saver = {};
    Output summary_op = {};
    bool counts_steps = true;  // the graph has a global step
    double events_flush_secs = 120;
  };
  // What is shared lives as long as a thread of the services.
  SupervisorServices(const RunEnvironment& environment, Options options);

  // Where nothing else follows, the file has the version, the graph, what is added and STOP.
  bool writes_events() const noexcept { return options_.directory != nullptr && options_.writes_events; }
  // A new file, unless one is open; the graph goes into it.
  void open_events(const NodeGraph& graph);
  void close_events();
  // FAILED_PRECONDITION where no file is open.
  void add_summary(std::string_view summary, std::int64_t step);
  void add_start(std::int64_t step);
  // What a program adds itself: `add` is called with the open file; where none is open that is a warning.
  void add_own(const std::function<void(EventWriter&)>& add);
  void flush_events();

  // The threads, registered with the coordinator and started; period 0: no such thread. What one of them fails with
  // stops the coordinator, but for a checkpoint that cannot be written (CheckpointSettings::on_save_error).
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
  // Of the step counter's thread.
  std::int64_t counted_at_ns_ = 0;
  std::int64_t counted_step_ = 0;
  int rates_logged_ = 0;
};

}  // namespace belay::runtime
