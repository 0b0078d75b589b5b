// SPDX-License-Identifier: Apache-2.0
// Makes sessions ready to run. They are restored from a checkpoint, or initialized, or (a worker's) initialized by
// another session on the same store.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "runtime/checkpoint/format/content.h"
#include "runtime/checkpoint/format/saver_tensors.h"
#include "runtime/monitored/run/run_environment.h"
#include "runtime/monitored/saving/scaffold.h"

namespace belay::runtime {

// The state that a restored session continues from, besides its variables.
struct RestoredRun {
  std::string path;
  RunState state;
};

struct CreatedSession {
  std::shared_ptr<DirectSession> session;
  std::optional<RestoredRun> restored;  // none: the variables are new, or another session's
  // States that the hooks continue from although nothing was restored.
  std::map<std::string, HookState> hook_states = {};
};

struct SessionManagerOptions {
  Output local_init_op = {};
  Feeds local_init_feeds = {};
  Output ready_op = {};                 // none: a session is always ready
  Output ready_for_local_init_op = {};  // needs a local_init_op
  double recovery_wait_secs = 30;       // between two looks
  // The first wait of a waiter, which doubles up to recovery_wait_secs. 0: recovery_wait_secs from the start. Workers
  // of a short job then start with their chief, and a long wait needs few looks.
  double first_wait_secs = 0;
  Pause* pause = nullptr;  // borrowed: its end() ends the waits; null: only the environment's interrupt does
};

struct PrepareArgs {
  std::string target = {};
  Output init_op = {};
  Feeds init_feeds = {};
  InitialValues initial_values = {};
  std::function<void(DirectSession&)> init_fn = {};
  std::shared_ptr<RunSaver> saver = {};
  std::string checkpoint_dir = {};                 // restore its newest whole checkpoint ...
  std::string checkpoint_filename_with_path = {};  // ... or exactly this one; both are INVALID_ARGUMENT
  SaverUse codec = {};                             // reads exactly that one if there is no saver
  bool wait_for_checkpoint = false;
  double max_wait_secs = 7200;
};

// INVALID_ARGUMENT, with both names: a directory and an exact checkpoint are given.
void check_one_source(const PrepareArgs& args);

class SessionManager {
 public:
  SessionManager(NodeGraph& graph, const RunEnvironment& environment, SessionManagerOptions options);

  // Restores, or else initializes with the init operation, the initial values and the init function, in this order. It
  // then runs local init if its guard is empty, and then the ready check. FAILED_PRECONDITION: nothing can initialize
  // it, or the model is not ready after that.
  CreatedSession prepare_session(const PrepareArgs& args);
  // Acts like prepare_session, but never initializes. `ready`: a checkpoint was restored and the model is ready.
  struct Recovered {
    CreatedSession created;
    bool ready = false;
  };
  Recovered recover_session(const PrepareArgs& args);
  // Waits until another session has made the store's variables ready, with a new session for each look. Then it runs
  // local init. DEADLINE_EXCEEDED: max_wait_secs leaves less than the next wait.
  CreatedSession wait_for_session(const std::string& target, double max_wait_secs);

 private:
  std::shared_ptr<DirectSession> open(const std::string& target);
  std::optional<RestoredRun> restore(DirectSession& session, const PrepareArgs& args);
  void initialize(DirectSession& session, const PrepareArgs& args);
  // Returns the names of unready variables. Empty: all are.
  std::string not_ready(DirectSession& session, const Output& op, const char* what);
  // Returns false, with the reason, if the guard does not allow it yet.
  bool try_local_init(DirectSession& session, std::string& why);
  void run(DirectSession& session, const Output& op, const Feeds& feeds);

  NodeGraph& graph_;
  const RunEnvironment& environment_;
  SessionManagerOptions options_;
  Pause own_pause_;
};

}  // namespace belay::runtime
