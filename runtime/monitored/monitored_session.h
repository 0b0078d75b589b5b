// SPDX-License-Identifier: Apache-2.0
// A session that initialises or restores itself, calls hooks around every run, recovers from preemption, ends cleanly.
//
//   MonitoredSession session(creator, hooks, options);
//   session.scope([&] { while (!session.should_stop()) session.run(train_op); });
//
// Create (the constructor): begin of each hook; then, repeated by every recovery: scaffold and graph finalized, session
// opened and restored or initialized, load_state of each hook, a new coordinator, queue runners (each input seeks
// first), after_create_session of each hook.
//
// Close: end of each hook, unless an error ends the session (then on_error); threads stopped and joined for at most the
// grace period; the raw session closed; the graph open again, behind its last session, if it was open before.
//
// What leaves scope(): nothing after OUT_OF_RANGE of the graph or STOP out of a run, which end the loop; any other
// exception, after on_error of each hook, and with [checkpoint] save_on_exception behind a checkpoint of the last whole
// step; and the error that a thread of the session reported, when it closes. OUT_OF_RANGE out of a hook or an operation
// of a plugin, and an end of input while a session is made or saved, are errors (FAILED_PRECONDITION).
//
// Inside: what a hook, an init function or a step function may call of the session that is calling it.
//
//                                      in a step function                   in a hook or an init function
//   run, run_step_fn                   yes; a preemption goes on to the     FAILED_PRECONDITION: the callback's own
//                                      outermost call, which recovers       session makes raw runs
//   save                               yes                                  FAILED_PRECONDITION: save_checkpoint asks
//                                                                           for one at the boundary
//   close, leave, scope                FAILED_PRECONDITION: request_stop ends the loop
//   should_stop                        looks, and never recovers
//   request_stop, stop_now, interrupt, resume, raw_session, end_reason: yes
//
// Threads: runs with hooks come one after the other, whichever thread calls them, and the end waits for the one that is
// under way. Runs through raw_session() go on beside them. should_stop, request_stop, stop_now, interrupt, resume and
// raw_session never wait; while another thread's run is under way should_stop knows only of requests from outside. One
// thread closes the session; a run that waits for its turn then is FAILED_PRECONDITION, as one behind the end.
//
// Threads of the session's coordinator belong to the session that they were started in. A recovery and the end wait for
// them, so they never recover: what their runs throw is theirs to report, and should_stop is true as soon as the
// coordinator stops. When a recovery begins their runs end with CANCELLED, and they make no others.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "runtime/monitored/coordinated_session.h"
#include "runtime/monitored/hooked_session.h"
#include "runtime/monitored/recoverable_session.h"
#include "runtime/monitored/session_creator.h"
#include "runtime/monitored/turns.h"
#include "runtime/platform/current_error.h"

namespace belay::runtime {

// Why a session ended.
struct EndReason {
  enum class Kind { kNone, kStopRequested, kEndOfInput, kError, kClosed } kind = Kind::kNone;
  std::string text;  // "stop_at_step: reached step 2000 (last_step = 2000)"
};

struct MonitoredSessionOptions {
  SessionSettings settings;        // of them the grace period and the recoveries
  bool recovers = true;            // false: SingularMonitoredSession
  RunSaver* saver = nullptr;       // borrowed; null: nothing is saved
  CallMonitor* monitor = nullptr;  // borrowed; may be null
  EventWriter* events = nullptr;   // borrowed; gets the trace of each run that a hook has traced; may be null
  RunTrace* trace = nullptr;       // borrowed; gets what each step does when; may be null
  RecoverableSession::OnRecovery on_recovery = {};
  std::int64_t min_steps = 0;  // before this global step a hook's request to stop is refused, and said; 0: none is
  bool begins_hooks = true;    // false: each hook's begin was called on this graph before
};

// Results of MonitoredSession::run, in the order of the fetches.
class FetchedValues {
 public:
  FetchedValues(Run run, std::unique_ptr<FetchSet> fetches) : run_(std::move(run)), fetches_(std::move(fetches)) {}
  TensorView operator[](std::size_t i) const { return TensorView(run_.result(*fetches_, i)); }
  std::size_t size() const noexcept { return fetches_->outputs().size(); }

 private:
  Run run_;
  std::unique_ptr<FetchSet> fetches_;
};

class MonitoredSession {
 public:
  using StepContext = StepFnContext;

  // The hooks are borrowed. An error leaves the constructor; what was opened is closed, end is not called.
  MonitoredSession(std::shared_ptr<SessionCreator> creator, const RunEnvironment& environment, HookSet& hooks,
                   MonitoredSessionOptions options = {});
  // Closes what is open, without end, as after an error.
  ~MonitoredSession();
  MonitoredSession(const MonitoredSession&) = delete;
  MonitoredSession& operator=(const MonitoredSession&) = delete;

  // With hooks. A fetch set that is kept from run to run costs no look-up.
  Run run(const RunCall& call);
  FetchedValues run(const std::vector<FetchRef>& fetches, const Feeds& feeds = {}, const CallerOptions& options = {},
                    RunMetadata* metadata = nullptr);
  // With the chosen hooks, or with none, and with recovery. Both are runs of the session as others are; HookChoice
  // says how one without hooks differs.
  FetchedValues run_with(const HookChoice& hooks, const std::vector<FetchRef>& fetches, const Feeds& feeds = {});
  FetchedValues run_without_hooks(const std::vector<FetchRef>& fetches, const Feeds& feeds = {});
  // Calls step(context) inside the recovery loop: it is repeated from its start after a preemption error. STOP, asked
  // for by the context, leaves it, and should_stop() is true from then on.
  std::any run_step_fn(const StepFn& step);

  // True: somebody asked to stop, a thread failed, or it is closed. What a thread reported leaves close, not this; what
  // a recovery throws does leave it. Inside it only looks: a preemption that a thread reported is no stop.
  bool should_stop();
  // Ends the loop as a hook would.
  void request_stop(const std::string& reason);
  // Ends the loop now, for a signal: as request_stop, and a run that waits, for input say, ends with STOP. Nothing of
  // its step has happened; the scope ends normally, with every hook's end and its last checkpoint (without them where
  // it comes between two recoveries, when there is no session). During the end it interrupts nothing.
  void stop_now(const std::string& reason);
  // Writes a checkpoint between two runs, waits until it is durable and returns its path; empty where a hook's
  // before_save skipped it. FAILED_PRECONDITION where the session has no directory and inside a run, DATA_LOSS where it
  // could not be written. A hook's after_save may ask to stop.
  std::string save();
  // The last run's boundary once more: begins the checkpoint that was asked for since, if one was. What fails there
  // means what it means at a boundary.
  void save_if_asked();
  // Waits for the checkpoint that is being written in the background, if one is; the hooks' after_save is called then.
  void finish_save();

  // Runs body as the inside of a `with` block: see the head of this file.
  template <class F>
  void scope(F&& body) {
    check_outside("Scope");
    try {
      body();
    } catch (...) {
      if (leave(current_error())) return;
      throw;
    }
    close();
  }
  // The normal end. Idempotent. Without end where a recovery has failed: there is no session to call it with.
  void close();
  // The end because of an error: for an end of input, the normal end (true); else on_error of each hook and no end
  // (false: the caller throws the error on).
  bool leave(const Error& error);

  // For a run that has to be ended while a hook does not come back from before_run or after_run. Saves the variables,
  // which are whole, and the states of the other hooks. The log says what the checkpoint lacks. Does nothing while the
  // session's thread is in anything else: false. Called by another thread, which the session outlives.
  bool save_beside_hook() noexcept;

  bool closed() const noexcept { return layers_ == nullptr; }
  // Cancels the run that is under way, and those that begin before resume() or close(), with this reason.
  void interrupt(const Error& reason);
  void resume();
  // The graph while the session is open, null afterwards.
  NodeGraph* graph() noexcept { return closed() ? nullptr : &creator_->graph(); }
  // Valid until the next recovery or the end; null in between and afterwards. Runs through it trigger no hooks.
  std::shared_ptr<DirectSession> raw_session();
  const EndReason& end_reason() const noexcept { return reason_; }
  std::int64_t recoveries() const noexcept;
  // That the variables are at, or were at the end; -1: there is none.
  std::int64_t global_step();
  // Whether the session went on from a checkpoint when it was made first.
  bool restored() const noexcept { return restored_at_start_; }
  // Threads that did not end within the grace period.
  const std::vector<std::string>& unjoined() const noexcept { return unjoined_; }

 private:
  class Visit;
  enum class Place { kOutside, kStepFn, kRun, kSave, kRecovery, kEnd };

  std::unique_ptr<SessionLayer> create();
  std::unique_ptr<SessionLayer> make_layers();
  void abandon(const Error& error);
  void check_outside(const char* call) const;
  [[noreturn]] void refuse_inside(const std::string& call, Place called) const;
  std::shared_ptr<Coordinator> own_coordinator() const;
  bool look();
  std::any call_step(const StepFn& step, StepFnContext& context);
  FetchedValues run_fetches(const std::vector<FetchRef>& fetches, const Feeds& feeds, RunCall call);
  EndReason reason_of_normal_end() const;
  void save_at_boundary(DirectSession& raw);
  void finish_save(DirectSession& raw);
  void stop_behind_save(const std::string& hook);
  void save_after(const Error& error) noexcept;
  void end_normally();
  void close_layers();
  void run_end_hooks();

  std::shared_ptr<SessionCreator> creator_;
  const RunEnvironment& environment_;
  HookSet& hooks_;
  MonitoredSessionOptions options_;
  Turns turns_;
  Place place_ = Place::kOutside;  // where the thread is that is inside
  std::unique_ptr<SessionLayer> layers_;
  SessionLayer* below_recovery_ = nullptr;  // inside layers_, as the next one; null while a recovery makes it anew
  HookedSession* hooked_ = nullptr;
  std::atomic<const Coordinator*> coordinator_{nullptr};  // of the session that is open; only compared
  std::mutex mutex_;                                      // of the following, which other threads may ask for
  std::shared_ptr<DirectSession> raw_;
  std::string stop_reason_;
  bool ending_ = false;
  std::atomic<bool> stop_now_{false};
  std::atomic<bool> stop_requested_{false};
  std::atomic<bool> closing_{false};  // a thread that asks should_stop is not to wait for the join that waits for it
  bool created_once_ = false;
  bool restored_at_start_ = false;
  std::int64_t recoveries_ = 0;
  std::int64_t last_step_ = -1;
  EndReason reason_;
  std::vector<std::string> unjoined_;
};

// Always the chief, never recovers: ABORTED and UNAVAILABLE are errors like others.
class SingularMonitoredSession final : public MonitoredSession {
 public:
  SingularMonitoredSession(NodeGraph& graph, const RunEnvironment& environment, HookSet& hooks,
                           ChiefSessionCreator::Options creator = {}, MonitoredSessionOptions options = {});
};

}  // namespace belay::runtime
