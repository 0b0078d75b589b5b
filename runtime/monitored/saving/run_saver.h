// SPDX-License-Identifier: Apache-2.0
// Saves and restores a running session in its run directory: variables, input positions and hook states of one moment.
//
// A hook asks for a checkpoint (request). The session takes its snapshot at the step's boundary, after every hook's
// after_run. It calls before_save of all hooks and save_state, then copies the variables into memory that every save
// uses again. A thread writes it while training continues: files, list of the best, state file. The event and
// after_save of all hooks come at the first boundary after that. The thread then removes the surplus checkpoints. With
// save = "sync", and while a session ends, one boundary does all of it.
//
// One checkpoint is written at a time. Some calls wait until it is done: the next save, a restore, the end of the
// session, and a read of the saver's instance (saver_use). If nothing was trained since a restore from this directory,
// a save makes its callbacks and writes no file. There is one object per run, under the run's lock, and it outlives
// recoveries. [session]
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "belay/runtime/checkpoint_settings.h"
#include "runtime/checkpoint/directory/checkpoint_series.h"
#include "runtime/checkpoint/directory/locked_directory.h"
#include "runtime/checkpoint/read/checkpoint_reader.h"
#include "runtime/events/event_writer.h"
#include "runtime/monitored/hooks/session_hook.h"
#include "runtime/monitored/run/run_environment.h"
#include "runtime/monitored/saving/failed_saves.h"
#include "runtime/monitored/saving/last_evaluation.h"
#include "runtime/monitored/saving/restored_checkpoint.h"
#include "runtime/monitored/saving/save_warnings.h"
#include "runtime/monitored/saving/session_manager.h"
#include "runtime/platform/threads/background_thread.h"

namespace belay::runtime {

// Makes a plugin's instance the saver of a run. It borrows the instance. Its copies share a lock, so a read waits for
// another thread's write, and vice versa.
SaverUse saver_use(PluginInstance& codec);

// The savers other than the run's own, by their plugins' names, for checkpoints of other runs. `find` throws if there
// is none.
struct OtherSavers {
  std::function<SaverUse(const std::string& name)> find;
};

struct RunSaverOptions {
  SaverUse saver;
  CheckpointSettings checkpoint;  // its periods are for the hook that asks for saves
  Fingerprint fingerprint;
  std::string manifest = {};       // kept in each checkpoint; empty: there is none
  std::string schema = {};         // likewise
  EventWriter* events = nullptr;   // borrowed; may be null
  CallMonitor* monitor = nullptr;  // borrowed: only for the saver's instance; may be null
  // The time that a signal leaves for the last save. A longer save is a warning. 0: there is no limit.
  double signal_grace_secs = 0;
  // Called for each written or restored checkpoint of this directory. The next start continues from it. The thread that
  // wrote it makes the call.
  std::function<void(const std::string& path, std::int64_t step)> on_saved;
};

class RunSaver {
 public:
  // `run` is the open run directory. Both are borrowed.
  RunSaver(const RunEnvironment& environment, LockedDirectory& run, RunSaverOptions options);

  // Restores the newest whole checkpoint of a directory. Returns none if there is none. RestoreError: none of them can
  // be restored, or it does not fit the graph.
  std::optional<RestoredRun> restore_latest(DirectSession& session, const std::string& directory);
  RestoredRun restore_exactly(DirectSession& session, const std::string& path);

  // Asks for a checkpoint at the next boundary. Any thread.
  void request() noexcept { requested_.store(true); }
  // Notes an evaluation of the current variables, at the boundary after that step or while the session ends. If it is
  // among the best of [checkpoint] keep_best, it asks for a checkpoint, which contains the list. It comes before
  // at_boundary and any other run. `value` is that of best_metric. Without keep_best nothing happens.
  // `still_evaluated` is called until the next evaluation or the session's end.
  using StillEvaluated = LastEvaluation::StillEvaluated;
  void note_evaluation(std::int64_t step, double value, StillEvaluated still_evaluated = {});
  // While a session ends, the hooks' states are the earlier ones. Checkpoints from here on have this entry, too.
  void note_while_ending(const std::string& hook, const std::string& key, std::int64_t value);
  bool requested() const noexcept { return requested_.load(); }
  // Returns true if at_boundary has work. A checkpoint was requested, or the hooks must learn of a durable one. Or the
  // run's lock was found lost, and the boundary ends the run. Or a warning about failed saves is due again. It is
  // called at every step. [session]
  bool due() const noexcept { return has_to_save() || failures_.must_say(); }

  // Called before the first step. It reserves the descriptors for a save. If the settings save by themselves, it warns
  // once if the disk has no room for one checkpoint. If they save in the background, it also takes the memory for the
  // copy of the saved variables.
  void prepare(const DirectSession& session);

  // The boundary. The hooks learn of a checkpoint that was written meanwhile, and the requested one begins. It first
  // waits for a checkpoint that is still being written. Returns the name of a hook whose after_save asks to stop.
  //
  // A failure is logged and counted. After save_failures of them the next boundary throws the error or waits, as
  // on_save_error states. A state that is not finite is always thrown (DIVERGED), and so are errors of a hook's
  // before_save or after_save. While saves fail and training continues, it warns every 10 minutes. A hook's
  // skip_checkpoint is a line in the log. RunInUse: the run's lock is not in place.
  std::string at_boundary(DirectSession& session, HookSet& hooks);
  // Waits for the checkpoint that is being written, if any, and does the next boundary's work for it. Nothing is being
  // written after it.
  std::string finish(DirectSession& session, HookSet& hooks);

  // Ends the current and later waits for a checkpoint that can be written (on_save_error = "pause"), until
  // allow_waiting(). Any thread.
  void stop_waiting(const Error& reason) { failures_.stop_waiting(reason); }
  void allow_waiting() { failures_.allow_waiting(); }
  // Called if an error ends the run and the variables are those of one whole step. Writes them at once, on this thread,
  // unless the last checkpoint has them. It calls no hook, and a failure is a warning.
  void save_after_error(DirectSession& session, HookSet& hooks) noexcept;

  // Called while a hook keeps the session's thread, which is held (HeldCall). Writes the variables at once, on this
  // thread, unless a checkpoint has them. The state of that hook is from the last save. It calls no hook, and a failure
  // is a warning.
  void save_beside(DirectSession& session, HookSet& hooks, const PluginInstance& busy) noexcept;

  // Called while a session ends. It waits for the checkpoint in progress. The hooks' states are from before the first
  // hook's end, and a request is served at once, on this thread. RunInUse: the run's lock is not in place. If a state
  // is not finite, each hook still gets its end, and then check_last_state throws.
  void begin_end(DirectSession& session, HookSet& hooks);
  void finish_end() noexcept { ending_ = nullptr; }
  void check_last_state() const {
    if (diverged_) throw Error(*diverged_);
  }
  // Called when a session closes, for any reason. It waits for the thread. No hook learns of a checkpoint that was
  // still being written. The log, saved_step() and save_error() show if it was completed.
  void settle() noexcept;
  // The save of service "checkpoint". It asks for a checkpoint at the next boundary; while the session ends, it writes
  // one.
  void save_requested_by_hook();

  // Returns the step of the last checkpoint that was restored, or that was written and that the hooks know. -1: none.
  std::int64_t saved_step() const noexcept { return saved_step_; }
  // Returns the same, but includes the one that is being written.
  std::int64_t taken_step() const noexcept { return save_ == nullptr ? saved_step_ : save_->step; }
  const std::string& saved_path() const noexcept { return saved_path_; }
  // Returns the error of the newest attempt to save. It is empty if that succeeded.
  const std::string& save_error() const noexcept { return failures_.error(); }
  // The bytes that saving takes beside the training. The copy of the variables exists from prepare() on if the settings
  // save in the background. The tensors of hooks' states are known from the first save on. All saves use the same
  // memory. [session]
  struct Memory {
    std::uint64_t copy = 0, hooks = 0;
  };
  Memory memory() const noexcept;
  const RunSaverOptions& options() const noexcept { return options_; }
  const RunEnvironment& environment() const noexcept { return environment_; }

 private:
  struct Ending {
    DirectSession* session;
    HookSet* hooks;
    std::map<std::string, HookState> states;
    std::optional<std::uint64_t> asked_at;  // the variables' versions at the last request
  };
  // A checkpoint from its snapshot until after_save of the hooks. While the thread writes it, the thread owns it.
  struct Save {
    std::int64_t step = 0;
    std::int64_t begun_ns = 0;
    CheckpointContent content = {};
    double seconds = 0;               // its duration
    bool was_there = false;           // it is the restored one: nothing is written
    std::uint64_t versions = 0;       // the variables'
    bool again = false;               // the last checkpoint, of this step, has these variables: it is written again
    std::string path = {};            // set when it is durable
    std::optional<Error> error = {};  // the reason why it never will be durable
  };
  bool has_to_save() const noexcept { return requested_.load() || written_.load() || run_.lock_lost(); }
  void save_while_ending();
  template <class F>
  void put_off_divergence(F&& f);
  std::string save(DirectSession& session, HookSet& hooks, const std::map<std::string, HookState>* states);
  bool begin_write(DirectSession& session, const std::map<std::string, HookState>& states);
  bool is_as_restored(DirectSession& session);
  void save_at_once(DirectSession& session, const std::map<std::string, HookState>& states, Save& save);
  void take(DirectSession& session, const std::map<std::string, HookState>& states, Save& save);
  void write(Save& save);
  std::string wait_and_tell(DirectSession& session, HookSet& hooks);
  std::string tell(DirectSession& session, HookSet& hooks);
  void note_written(const Save& save);
  bool must_wait() const noexcept { return failures_.must_wait() && ending_ == nullptr; }
  std::string wait_until_saved(DirectSession& session, HookSet& hooks);
  void retain();
  bool in_background() const noexcept { return options_.checkpoint.save == SaveMode::kAsync && ending_ == nullptr; }
  RestoredRun restore(DirectSession& session, const CheckpointReader& checkpoint);

  const RunEnvironment& environment_;
  LockedDirectory& run_;
  RunSaverOptions options_;
  CheckpointSeries series_;       // the thread owns it while it works
  BestList best_;                 // as it will be after the current write
  Snapshot snapshot_;             // memory reused by each save; read by the thread while it writes
  std::uint64_t hook_bytes_ = 0;  // of the hooks' tensors in the newest save
  std::atomic<bool> requested_{false};
  std::atomic<bool> written_{false};  // the thread is done with save_
  std::unique_ptr<Save> save_;        // null: none is being written, and the hooks know all
  std::unique_ptr<Ending> ending_;
  LastEvaluation evaluation_;
  std::int64_t saved_step_ = -1;
  std::optional<std::uint64_t> written_versions_;  // the variables' in the checkpoint that this session wrote last
  std::string saved_path_;
  std::optional<RestoredCheckpoint> restored_;  // the newest of this directory; none: another one
  FailedSaves failures_{environment_, options_.checkpoint};
  std::optional<Error> diverged_;  // the reason why the last state was not saved
  SaveWarnings warnings_{environment_};
  BackgroundThread thread_{"belay-save"};  // the last: it ends before the members that it uses
};

// Reads all of a checkpoint's variables into the session's store. RestoreError: it does not fit.
void restore_variables(DirectSession& session, const StoredTensors& stored, const SaverUse& saver);
// Does the same for a session that does not train. The checkpoint may hold more than the session has, and averages
// instead of variables (averages.h).
void load_variables(DirectSession& session, const StoredTensors& stored, const SaverUse& saver);
// Restores all of a session that saves nothing from exactly this path. The path leads to a checkpoint's directory, or
// to a file that the saver reads. The file holds exactly the session's variables. RestoreError: it does not fit.
// NOT_FOUND: it does not exist.
RestoredRun restore_exactly(const RunEnvironment& environment, DirectSession& session, const SaverUse& saver,
                            const std::string& path);
// Names, dtypes and shapes of a session's saved variables.
std::vector<TensorInfo> variable_infos(const DirectSession& session);

}  // namespace belay::runtime
