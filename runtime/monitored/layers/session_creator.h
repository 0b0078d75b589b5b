// SPDX-License-Identifier: Apache-2.0
// Makes the raw session of a monitored session, at first and at every recovery.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "runtime/monitored/saving/scaffold.h"
#include "runtime/monitored/saving/session_manager.h"

namespace belay::runtime {

class SessionCreator {
 public:
  virtual ~SessionCreator() = default;
  // Finalizes scaffold and graph, and returns a session ready to run.
  virtual CreatedSession create_session() = 0;
  virtual NodeGraph& graph() = 0;
  // The wait of create_session, and of its session between two recoveries.
  Pause& pause() noexcept { return pause_; }

 private:
  Pause pause_;
};

// The chief. It restores the newest checkpoint of a directory, or exactly the given one. Without one it runs the init
// operation and the init function. INVALID_ARGUMENT when the session is created: both paths are given.
class ChiefSessionCreator final : public SessionCreator {
 public:
  struct Options {
    std::shared_ptr<SessionScaffold> scaffold = {};  // none: a default one
    std::string target = {};
    std::string checkpoint_dir = {};
    std::string checkpoint_filename_with_path = {};
    SaverUse codec = {};  // reads exactly that one if the scaffold has no saver
  };
  ChiefSessionCreator(NodeGraph& graph, const RunEnvironment& environment, Options options);
  CreatedSession create_session() override;
  NodeGraph& graph() override { return graph_; }
  SessionScaffold& scaffold() noexcept { return *options_.scaffold; }

 private:
  NodeGraph& graph_;
  const RunEnvironment& environment_;
  Options options_;
  std::unique_ptr<SessionManager> manager_;
};

// A worker. It waits until another session on the same target has made the variables ready, and runs only local init.
class WorkerSessionCreator final : public SessionCreator {
 public:
  struct Options {
    std::shared_ptr<SessionScaffold> scaffold = {};
    std::string target = {};
    double max_wait_secs = 1800;
    double recovery_wait_secs = 30;  // between two looks
    double first_wait_secs = 0;      // see SessionManagerOptions
  };
  WorkerSessionCreator(NodeGraph& graph, const RunEnvironment& environment, Options options);
  CreatedSession create_session() override;
  NodeGraph& graph() override { return graph_; }

 private:
  NodeGraph& graph_;
  const RunEnvironment& environment_;
  Options options_;
  std::unique_ptr<SessionManager> manager_;
};

}  // namespace belay::runtime
