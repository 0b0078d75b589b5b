// SPDX-License-Identifier: Apache-2.0
// Saves and restores a running session in its run directory: variables, input positions and hook states of one moment.
//
// A hook asks for a checkpoint (request); the session takes its snapshot at the step's boundary, after every hook's
// after_run: before_save of all hooks, save_state, a copy of the variables into memory that every save uses again. A
// thread writes it while training goes on: files, list of the best, state file. At the first boundary behind that come
// the event and after_save of all hooks; then the thread removes what is not kept. With save = "sync", and while a
// session ends, all of it is one boundary's.
//
// One checkpoint is written at a time. What needs the one under way to be done waits for it: the next save, a restore,
// the end of the session, and a read of the saver's instance (saver_use). A save of what was just restored from this
// directory, with nothing trained since, has its callbacks and writes no file. One object per run, under the run's
// lock; it outlives recoveries. [session]
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
#include "runtime/checkpoint/checkpoint_reader.h"
#include "runtime/checkpoint/checkpoint_series.h"
#include "runtime/checkpoint/locked_directory.h"
#include "runtime/events/event_writer.h"
#include "runtime/monitored/restored_checkpoint.h"
#include "runtime/monitored/run_environment.h"
#include "runtime/monitored/session_hook.h"
#include "runtime/monitored/session_manager.h"
#include "runtime/platform/background_thread.h"

namespace belay::runtime {

// A plugin's instance as the saver of a run. Borrows it. Its copies share a lock, so that a read waits for the write
// that another thread makes, and the other way round.
SaverUse saver_use(PluginInstance& codec);

// The savers beside the run's own, by their plugins' names: for checkpoints of other runs that they wrote. `find`
// throws where there is none.
struct OtherSavers {
  std::function<SaverUse(const std::string& name)> find;
};

struct RunSaverOptions {
  SaverUse saver;
  CheckpointSettings checkpoint;  // its periods belong to the one who asks for saves
  Fingerprint fingerprint;
  std::string manifest = {};       // kept in each checkpoint; empty: there is none
  std::string schema = {};         // likewise
  EventWriter* events = nullptr;   // borrowed; may be null
  CallMonitor* monitor = nullptr;  // borrowed: that of the saver's instance and of no other; may be null
  // What a signal leaves for the last save; one that takes longer is a warning. 0: nothing ends it.
  double signal_grace_secs = 0;
  // Called for each checkpoint of this directory that was written or restored: the next start goes on from it. By the
  // thread that wrote it.
  std::function<void(const std::string& path, std::int64_t step)> on_saved;
};

class RunSaver {
 public:
  // `run` is the open run directory; both are borrowed.
  RunSaver(const RunEnvironment& environment, LockedDirectory& run, RunSaverOptions options);

  // The newest whole checkpoint of a directory; none where there is none. RestoreError where there are some but none
  // can be restored, or it does not fit the graph.
  std::optional<RestoredRun> restore_latest(DirectSession& session, const std::string& directory);
  RestoredRun restore_exactly(DirectSession& session, const std::string& path);

  // Asks for a checkpoint at the next boundary. Any thread.
  void request() noexcept { requested_.store(true); }
  // An evaluation of the variables as they are, at the boundary behind that step or while the session ends: where it is
  // among the best of [checkpoint] keep_best, a checkpoint is asked for, which has the list with it. Comes before
  // at_boundary and any other run. `value` is that of best_metric; without keep_best nothing happens.
  // `still_evaluated`: whether an evaluation of the store's variables would be one of the same values, asked where
  // something was written to them since; empty: it would not. Called until the next evaluation or the session's end.
  using StillEvaluated = std::function<bool(VariableStore&)>;
  void note_evaluation(std::int64_t step, double value, StillEvaluated still_evaluated = {});
  // While a session ends the hooks' states are those of before; what is saved from here on has this entry besides.
  void note_while_ending(const std::string& hook, const std::string& key, std::int64_t value);
  bool requested() const noexcept { return requested_.load(); }
  // Whether at_boundary has something to do: a checkpoint was asked for, one is durable and the hooks are to hear of
  // it, the run's lock was found lost, and the boundary ends the run, or it is to be said again that saves fail. Asked
  // at every step. [session]
  bool due() const noexcept { return has_to_save() || must_say_unsaved(); }

  // Before the first step: takes the memory that saves copy to, if the settings save in the background and of
  // themselves: as much as the saved variables have. Where the disk has no room for one checkpoint that is a warning,
  // once. A save's descriptors are held back for it.
  void prepare(const DirectSession& session);

  // The boundary: reports to the hooks the checkpoint that was written meanwhile, and begins the one that was asked
  // for; where another one is still being written it waits for that first. Returns the name of a hook whose after_save
  // asks to stop. A failure is logged and counted, and behind save_failures of them it is thrown or waited out, as
  // on_save_error says, at the boundary behind it; a state that is not finite is always thrown (DIVERGED), and so is
  // what a hook's before_save or after_save throws. While saves fail and training continues, a warning says so every 10
  // minutes. A hook's skip_checkpoint is a line in the log. RunInUse where the run's lock is not in place.
  std::string at_boundary(DirectSession& session, HookSet& hooks);
  // Waits for the checkpoint that is being written, if one is, and does what the next boundary would do for it; nothing
  // is under way behind it.
  std::string finish(DirectSession& session, HookSet& hooks);

  // Ends a wait for a checkpoint that can be written (on_save_error = "pause"), and those to come, until
  // allow_waiting(). Any thread.
  void stop_waiting(const Error& reason) { pause_.end(reason); }
  void allow_waiting() { pause_.reset(); }
  // Where an error ends the run and the variables are those of one whole step: writes them at once, on this thread,
  // unless the last checkpoint has them. No hook hears of it; a failure is a warning.
  void save_after_error(DirectSession& session, HookSet& hooks) noexcept;

  // While a hook keeps the session's thread, which is held (HeldCall): writes the variables at once, on this thread,
  // unless a checkpoint has them. The state of that hook is the one of the last save. No hook hears of it; a failure is
  // a warning.
  void save_beside(DirectSession& session, HookSet& hooks, const PluginInstance& busy) noexcept;

  // While a session ends: the checkpoint under way is waited for; hooks' states are those of before the first hook's
  // end, and a request is served at once, on this thread. RunInUse where the run's lock is not in place. A state that
  // is not finite leaves each hook its end: check_last_state throws it behind them.
  void begin_end(DirectSession& session, HookSet& hooks);
  void finish_end() noexcept { ending_ = nullptr; }
  void check_last_state() const {
    if (diverged_) throw Error(*diverged_);
  }
  // Where a session closes, however it ended: waits for the thread. Of a checkpoint that was still being written no
  // hook hears any more; whether it arrived is in the log, in saved_step() and in save_error().
  void settle() noexcept;
  // Service "checkpoint"'s save: asks for a checkpoint at the next boundary, or while the session ends writes it.
  void save_requested_by_hook();

  // The step of the last checkpoint that this run wrote, as far as the hooks were told, or restored; -1: none.
  std::int64_t saved_step() const noexcept { return saved_step_; }
  // The same with the one that is being written.
  std::int64_t taken_step() const noexcept { return save_ == nullptr ? saved_step_ : save_->step; }
  const std::string& saved_path() const noexcept { return saved_path_; }
  // What the newest attempt to save failed with; empty where it did not.
  const std::string& save_error() const noexcept { return save_error_; }
  // What saving takes beside the training, in bytes: the copy of the variables, which is there from prepare() on where
  // the settings save in the background, and the tensors of hooks' states, which are known from the first save on. All
  // saves use the same memory. [session]
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
  // What an evaluation found, and the variables' versions that it was of: known once something is saved.
  struct Evaluated {
    std::int64_t step;
    double value;
    std::optional<std::uint64_t> versions = {};
    StillEvaluated still = {};
  };
  // A checkpoint from its snapshot until the hooks have heard of it. While the thread writes it, it is the thread's.
  struct Save {
    std::int64_t step = 0;
    std::int64_t begun_ns = 0;
    CheckpointContent content = {};
    double seconds = 0;          // that it took
    bool was_there = false;      // it is the one that was restored: nothing is written
    std::uint64_t versions = 0;  // the variables'
    bool again = false;          // these variables are in the last checkpoint, which is of this step: it is renewed
    std::string path = {};       // once it is durable
    std::optional<Error> error = {};  // why it will not be
  };
  // From the first of the saves that fail now, one after the other.
  struct Unsaved {
    std::int64_t since_ns, say_at_ns;
  };
  bool has_to_save() const noexcept { return requested_.load() || written_.load() || run_.lock_lost(); }
  bool must_say_unsaved() const noexcept {
    return unsaved_ && environment_.clock.monotonic_ns() >= unsaved_->say_at_ns;
  }
  void say_unsaved(const DirectSession& session);
  std::optional<double> value_of(DirectSession& session, std::int64_t step) const;
  void say_if_best(std::int64_t step, const BestList& before) const;
  void say_if_it_waits(const DirectSession& session);
  void warn_if_disk_is_full(const DirectSession& session);
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
  void fail_or_go_on(const Save& save);
  std::string reaction() const;
  bool must_wait() const noexcept;
  std::string wait_until_saved(DirectSession& session, HookSet& hooks);
  bool wait(double seconds);
  void retain();
  bool in_background() const noexcept { return options_.checkpoint.save == SaveMode::kAsync && ending_ == nullptr; }
  // `other`: not the run's own directory but that one.
  std::optional<RestoredRun> restore_newest(DirectSession& session, const OpenDirectory* other);
  RestoredRun restore(DirectSession& session, const CheckpointReader& checkpoint);
  void compare_fingerprint(const Fingerprint& stored) const;
  void warn_if_slower_than_grace(double seconds);

  const RunEnvironment& environment_;
  LockedDirectory& run_;
  RunSaverOptions options_;
  CheckpointSeries series_;       // the thread's while it works
  BestList best_;                 // as it is when what is being written is there
  Snapshot snapshot_;             // memory that every save uses again; read by the thread while it writes
  std::uint64_t hook_bytes_ = 0;  // of the hooks' tensors in the newest save
  std::atomic<bool> requested_{false};
  std::atomic<bool> written_{false};  // the thread is done with save_
  std::unique_ptr<Save> save_;        // null: none is under way, and all was told
  std::unique_ptr<Ending> ending_;
  std::optional<Evaluated> evaluated_;  // the last one that was noted, or of the checkpoint that was restored
  std::int64_t saved_step_ = -1;
  std::optional<std::uint64_t> written_versions_;  // the variables' in the checkpoint that this session wrote last
  std::string saved_path_;
  std::optional<RestoredCheckpoint> restored_;  // of this directory, and its newest; none: something else
  std::string save_error_;
  std::int64_t failed_saves_ = 0;  // in a row
  std::optional<Unsaved> unsaved_;
  Pause pause_;
  std::optional<Error> diverged_;  // why the state of an end was not saved
  bool warned_of_grace_ = false;
  bool warned_of_disk_ = false;
  bool said_that_it_waits_ = false;
  BackgroundThread thread_{"belay-save"};  // the last: it ends before what it uses
};

// Reads all of a checkpoint's variables into the session's store. RestoreError where it does not fit.
void restore_variables(DirectSession& session, const StoredTensors& stored, const SaverUse& saver);
// The same for a session that does not train: the checkpoint may hold more than the session has, and averages in the
// place of variables (averages.h).
void load_variables(DirectSession& session, const StoredTensors& stored, const SaverUse& saver);
// All of a session that saves nothing, from exactly this place: a checkpoint's directory, or a file that the saver
// reads and that holds exactly the session's variables. RestoreError where it does not fit; NOT_FOUND.
RestoredRun restore_exactly(const RunEnvironment& environment, DirectSession& session, const SaverUse& saver,
                            const std::string& path);
// Names, dtypes and shapes of a session's saved variables.
std::vector<TensorInfo> variable_infos(const DirectSession& session);

}  // namespace belay::runtime
