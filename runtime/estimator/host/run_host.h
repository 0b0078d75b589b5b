// SPDX-License-Identifier: Apache-2.0
// The owner of a run. It has what a run has once, for any number of sessions. Its caller is belay run, a program's
// MonitoredTrainingSession or a test driver.
//
//   RunHost run(platform, control, options);
//   run.take_directory();                       // locked from here on; nothing in it yet that stays
//   RunPlugins plugins(run, ...);               // instances without a session: model, saver, inputs
//   SessionHost training(run, "");              // session_host.h: hooks and events of one session
//   run.keep_directory();                       // from here on it stays
//   run.open_saver(saver_use(codec), fingerprint, training.events().writer());
//
// The lock is held as long as this object lives: over training, evaluation and training again. It outlives the plugins
// and the sessions, since the attempt's mark covers the destruction of their instances. [main], unless a member's
// comment has another thread
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "belay/runtime/checkpoint_settings.h"
#include "belay/runtime/session_settings.h"

#include "runtime/estimator/host/run_control.h"
#include "runtime/events/event_service.h"
#include "runtime/loader/instance/host.h"
#include "runtime/loader/instance/instance.h"
#include "runtime/monitored/run/run_directory.h"
#include "runtime/monitored/run/run_environment.h"
#include "runtime/monitored/saving/run_saver.h"

namespace belay::runtime {

// A run needs these of the system: clock, log and file system, all borrowed.
struct Platform {
  Clock& clock;
  Logger& log;
  FileSystem& files;
};

// Returns the clock, log and files of a program, and the system's for those that are null. `own_log` keeps a logger
// that is made here and writes text to stderr.
Platform platform_or_system(Clock* clock, Logger* log, FileSystem* files, std::unique_ptr<Logger>& own_log);

struct RunHostOptions {
  std::string dir = {};         // of the checkpoints; absolute; empty: nothing is saved
  std::string events_dir = {};  // absolute; empty: dir
  int threads = 0;              // 0: all cores
  std::uint64_t seed = 42;
  std::int64_t min_steps = 0;  // a training's hooks do not stop it before; 0: at any step
  bool marks_attempt = false;  // one run of a process at a time; see attempt_mark.h
  bool starts_over = false;    // the run does not continue an earlier one in dir
  ClusterPlace place = {};     // of this process among those that train together
  CheckpointSettings checkpoint = {};
  SessionSettings session = {};
};

class RunHost {
 public:
  // `targets`: the places where sessions share their variables, shared with other runs of the program. None: the run
  // has separate ones.
  RunHost(const Platform& platform, RunControl& control, RunHostOptions options,
          std::shared_ptr<StoreTargets> targets = {});
  ~RunHost();
  RunHost(const RunHost&) = delete;
  RunHost& operator=(const RunHost&) = delete;

  const RunHostOptions& options() const noexcept { return options_; }
  const RunEnvironment& environment() const noexcept { return environment_; }
  RunControl& control() const noexcept { return control_; }
  Clock& clock() const noexcept { return environment_.clock; }
  Logger& log() const noexcept { return environment_.log; }
  FileSystem& files() const noexcept { return *files_; }  // the system's, with the calls counted for the watchdog
  // Replaces make_queue for the following sessions.
  void use_queues(QueueFactory queues) { environment_.session.queues = std::move(queues); }
  // The services of instances without a session.
  const HostServices& services() const noexcept { return services_; }
  // Sets this process's place among the ranks, after they have met.
  void set_place(const ClusterPlace& place) noexcept { services_.set_place(place); }

  // ---- the directory
  // Makes and locks it, and marks this attempt if the options ask for it. Without options().dir it does nothing.
  // RunInUse; PERMISSION_DENIED and others. Before keep_directory() the end of the run removes everything that this
  // made.
  void take_directory();
  void keep_directory();  // and counts this attempt there
  // Whether the previous attempt noted the end of the training. It is known after keep_directory().
  bool had_finished() const noexcept { return had_finished_; }
  // The training has come to its end at this step, and its last checkpoint is durable. A file in the directory shows
  // this to an evaluator in another process, until keep_directory() of the next attempt. If it cannot be written, that
  // is a warning.
  void note_finished(std::int64_t step);
  bool has_directory() const noexcept { return directory_.has_value(); }
  LockedDirectory& directory() { return directory_->directory(); }
  // The number of this start of the run in its directory, from 1. It is known once the directory is taken.
  const std::int64_t& attempt() const noexcept { return attempt_; }
  bool& warned_of_metrics() noexcept { return warned_of_metrics_; }  // see metrics_line.h
  bool lock_lost() const noexcept { return directory_ && directory_->directory().lock_lost(); }
  // The folder of event files: options().events_dir, else the run's directory; empty: none.
  const std::string& events_dir() const noexcept { return events_dir_; }

  // ---- the calls of plugins
  // The monitor of the sessions' thread.
  CallMonitor& monitor() noexcept { return monitors_.front(); }
  // The monitor of the saver's instance, which a separate thread calls too.
  CallMonitor& saver_monitor() noexcept { return monitors_[1]; }
  // Makes a monitor for another thread that calls plugins. It lives as long as this object.
  CallMonitor& add_monitor();
  std::vector<const CallMonitor*> monitors() const;
  // The instance's number in the attempt's mark; 0: there is none.
  std::uint32_t number_of(const std::string& label) { return mark_ == nullptr ? 0 : mark_->name(label); }

  // ---- the trace
  // Traces the sessions that are opened after this call. `trace` is borrowed; null: nothing is traced.
  void trace_into(RunTrace* trace) noexcept { trace_ = trace; }
  RunTrace* trace() const noexcept { return trace_; }

  // ---- saving
  // Sets the codec for reading checkpoints, also without a directory.
  void use_codec(const SaverUse& codec);
  // Sets the savers for another run's checkpoint.
  void use_other_savers(OtherSavers savers);
  // Opens the saver that writes; it needs the directory. `events` gets a line for each checkpoint; borrowed, may be
  // null. `manifest`: each checkpoint keeps it, if the run has one.
  void open_saver(const Fingerprint& fingerprint, EventWriter* events, std::string manifest = {});
  // Keeps the schema that the model's training learned of its data, as JSON (data/schema.h), for each checkpoint and
  // the directory. Call it before open_saver.
  void keep_schema(std::string schema) { schema_ = std::move(schema); }
  const SaverUse& codec() const noexcept { return codec_; }
  // Null: nothing is saved.
  const std::shared_ptr<RunSaver>& saver() const noexcept { return saver_; }
  // Services of a session find the run by this. `saves`: its hooks may ask for a checkpoint. Call it again after there
  // is a codec or a saver.
  void set_contexts(HostServices& services, bool saves);
  // Sets the writer for events of instances without a session. It is a session's, borrowed, or none.
  void set_events(RunEvents* events) { services_.set_context(events == nullptr ? &no_events_ : events); }

 private:
  void mark_monitor(std::size_t i);
  std::int64_t attempts_before();

  const RunHostOptions options_;
  const std::string events_dir_;
  std::string schema_;
  RunControl& control_;
  const std::shared_ptr<StoreTargets> targets_;
  const std::unique_ptr<FileSystem> files_;
  RunEnvironment environment_;
  RunEvents no_events_;
  HostServices services_;
  std::deque<CallMonitor> monitors_;
  std::optional<RunDirectory> directory_;  // with the attempt's mark
  std::int64_t attempt_ = 1;
  bool had_finished_ = false;
  bool warned_of_metrics_ = false;
  RunTrace* trace_ = nullptr;
  AttemptMark* mark_ = nullptr;  // the directory's; null: there is none
  SaverUse codec_;
  OtherSavers other_savers_;
  std::shared_ptr<RunSaver> saver_;
};

// FAILED_PRECONDITION for settings that this system cannot do. The spinning of waiting threads is only a warning.
void check_system(const RunHost& run);

}  // namespace belay::runtime
