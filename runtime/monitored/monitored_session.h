// A session that initialises or restores itself, calls hooks round every run, recovers from preemption, ends cleanly.
//
//   MonitoredSession session(creator, hooks, options);
//   session.scope([&] { while (!session.should_stop()) session.run(train_op); });
//
// Create (the constructor): begin of each hook; then, repeated by every recovery: scaffold and graph finalized, session
// opened and restored or initialized, load_state of each hook, a new coordinator, queue runners (each input seeks
// first), after_create_session of each hook.
//
// Close: end of each hook, unless an error ends the session (then on_error); threads stopped and joined for at most the
// grace period; the raw session closed; the graph open again if it was open before.
//
// What leaves scope(): nothing after OUT_OF_RANGE or STOP, which end the loop; any other error, after on_error of each
// hook; and the error that a thread of the session reported, when it closes.
//
// Threads: runs with hooks come one after the other, whoever calls them, and the end waits for the one that is under
// way. Runs through raw_session() go on beside them. should_stop, request_stop, stop_now, interrupt, resume and
// raw_session never wait; while another thread's run is under way should_stop knows only of requests from outside. One
// thread closes the session, when the others run it no more.
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

namespace belay::runtime {

// Why a session ended.
struct EndReason {
  enum class Kind { kNone, kStopRequested, kEndOfInput, kError, kClosed } kind = Kind::kNone;
  std::string text;  // "stop_at_step: reached step 2000 (last_step = 2000)"
};

struct MonitoredSessionOptions {
  double stop_grace_period_secs = 120;
  RecoveryPolicy recovery;
  bool recovers = true;            // false: SingularMonitoredSession
  RunSaver* saver = nullptr;       // borrowed; null: nothing is saved
  CallMonitor* monitor = nullptr;  // borrowed; may be null
  RecoverableSession::OnRecovery on_recovery = {};
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
  FetchedValues run(const std::vector<FetchRef>& fetches, const Feeds& feeds = {}, const RunOptions& options = {},
                    RunMetadata* metadata = nullptr);
  // With the chosen hooks, or with none, and with recovery. Both are runs of the session as others are; HookChoice
  // tells how one without hooks differs.
  FetchedValues run_with(const HookChoice& hooks, const std::vector<FetchRef>& fetches, const Feeds& feeds = {});
  FetchedValues run_without_hooks(const std::vector<FetchRef>& fetches, const Feeds& feeds = {});
  // Calls step(context) inside the recovery loop: it is repeated from its start after a preemption error. STOP, asked
  // for by the context, leaves it, and should_stop() is true from then on.
  std::any run_step_fn(const StepFn& step);

  // True: somebody asked to stop, a thread failed, or it is closed. What a thread reported leaves close, not this; what
  // a recovery throws does leave it.
  bool should_stop();
  // Ends the loop as a hook would.
  void request_stop(const std::string& reason);
  // Ends the loop now, for a signal: as request_stop, and a run that waits, for input say, ends with STOP. Nothing of
  // its step has happened; the scope ends normally, with every hook's end and its last checkpoint.
  void stop_now(const std::string& reason);
  // Writes a checkpoint between two runs and gives its path; empty where a hook's before_save skipped it.
  // FAILED_PRECONDITION where the session has no directory, DATA_LOSS where it could not be written. A hook's
  // after_save may ask to stop.
  std::string save();

  // Runs body as the inside of a `with` block: see the head of this file.
  template <class F>
  void scope(F&& body) {
    try {
      body();
    } catch (const Error& e) {
      if (leave(e)) return;
      throw;
    } catch (const std::exception& e) {
      leave(Error(Code::kUnknown, e.what()));
      throw;
    }
    close();
  }
  // The normal end. Idempotent. Without end where a recovery has failed: there is no session to call it with.
  void close();
  // The end because of an error: for an end of input, the normal end (true); else on_error of each hook and no end
  // (false: the caller throws the error on).
  bool leave(const Error& error);

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
  // Whether the session went on from a checkpoint when it was made first.
  bool restored() const noexcept { return restored_at_start_; }
  // Threads that did not end within the grace period.
  const std::vector<std::string>& laggards() const noexcept { return laggards_; }

 private:
  std::unique_ptr<SessionLayer> create();
  FetchedValues run_fetches(const std::vector<FetchRef>& fetches, const Feeds& feeds, RunCall call);
  EndReason reason_of_normal_end() const;
  void close_layers();
  void run_end_hooks();
  void restore_graph() noexcept;

  std::shared_ptr<SessionCreator> creator_;
  const RunEnvironment& environment_;
  HookSet& hooks_;
  MonitoredSessionOptions options_;
  bool was_finalized_ = false;
  std::recursive_mutex runs_;  // a step function may run the session
  std::unique_ptr<SessionLayer> layers_;
  std::mutex mutex_;  // of the following four, which other threads may ask for
  std::shared_ptr<DirectSession> raw_;
  HookedSession* hooked_ = nullptr;  // inside layers_
  std::string stop_reason_;
  bool stop_now_ = false;
  std::atomic<bool> stop_requested_{false};
  std::atomic<bool> closing_{false};  // a thread that asks should_stop is not to wait for the join that waits for it
  bool created_once_ = false;
  bool restored_at_start_ = false;
  std::int64_t recoveries_ = 0;
  EndReason reason_;
  std::vector<std::string> laggards_;
};

// Always the chief, never recovers: ABORTED and UNAVAILABLE are errors like others.
class SingularMonitoredSession final : public MonitoredSession {
 public:
  SingularMonitoredSession(NodeGraph& graph, const RunEnvironment& environment, HookSet& hooks,
                           ChiefSessionCreator::Options creator = {}, MonitoredSessionOptions options = {});
};

}  // namespace belay::runtime
