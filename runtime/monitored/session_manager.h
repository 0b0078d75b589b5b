// SPDX-License-Identifier: Apache-2.0
// Makes sessions that are ready to run: restored from a checkpoint, or initialized, or (a worker's) initialized by
// another session on the same store.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "runtime/checkpoint/content.h"
#include "runtime/checkpoint/saver_tensors.h"
#include "runtime/monitored/run_environment.h"
#include "runtime/monitored/scaffold.h"

namespace belay::runtime {

// What a restored session goes on from, besides its variables.
struct RestoredRun {
  std::string path;
  RunState state;
};

struct CreatedSession {
  std::shared_ptr<DirectSession> session;
  std::optional<RestoredRun> restored;  // none: the variables are fresh, or another's
  // Where nothing was restored, and the hooks go on from states all the same.
  std::map<std::string, HookState> hook_states = {};
};

struct SessionManagerOptions {
  Output local_init_op = {};
  Feeds local_init_feeds = {};
  Output ready_op = {};                 // none: a session is always ready
  Output ready_for_local_init_op = {};  // needs a local_init_op
  double recovery_wait_secs = 30;       // between two looks
  // Of a waiter: the first wait, which doubles up to recovery_wait_secs; 0: that from the start. A short job's workers
  // start with their chief, and a long wait costs few looks.
  double first_wait_secs = 0;
  Pause* pause = nullptr;  // borrowed: whose end() ends the waits; null: only the environment's interrupt does
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
  SaverUse codec = {};                             // reads exactly that one where there is no saver
  bool wait_for_checkpoint = false;
  double max_wait_secs = 7200;
};

// INVALID_ARGUMENT, with both, where a directory and an exact checkpoint are given.
void check_one_source(const PrepareArgs& args);

class SessionManager {
 public:
  SessionManager(NodeGraph& graph, const RunEnvironment& environment, SessionManagerOptions options);

  // Restores, else initializes: the init operation, over it the initial values, the init function. Then local init if
  // its guard is empty; then the ready check. FAILED_PRECONDITION where there is nothing to initialize with, or it did
  // not make the model ready.
  CreatedSession prepare_session(const PrepareArgs& args);
  // As prepare, but never initializes. `ready`: whether a checkpoint was restored and the model is ready.
  struct Recovered {
    CreatedSession created;
    bool ready = false;
  };
  Recovered recover_session(const PrepareArgs& args);
  // Waits until another session has made the store's variables ready, with a new session per look; runs local init.
  // DEADLINE_EXCEEDED where less than the next wait is left of max_wait_secs.
  CreatedSession wait_for_session(const std::string& target, double max_wait_secs);

 private:
  std::shared_ptr<DirectSession> open(const std::string& target);
  std::optional<RestoredRun> restore(DirectSession& session, const PrepareArgs& args);
  void initialize(DirectSession& session, const PrepareArgs& args);
  // Empty: ready; else the names of what is not.
  std::string not_ready(DirectSession& session, const Output& op, const char* what);
  // False with the reason where the guard does not allow it yet.
  bool try_local_init(DirectSession& session, std::string& why);
  void run(DirectSession& session, const Output& op, const Feeds& feeds);

  NodeGraph& graph_;
  const RunEnvironment& environment_;
  SessionManagerOptions options_;
  Pause own_pause_;
};

}  // namespace belay::runtime
