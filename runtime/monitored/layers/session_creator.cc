// SPDX-License-Identifier: Apache-2.0
#include "runtime/monitored/layers/session_creator.h"

namespace belay::runtime {
namespace {

std::unique_ptr<SessionManager> make_manager(NodeGraph& graph, const RunEnvironment& environment,
                                             const SessionScaffold& scaffold, Pause& pause, double recovery_wait_secs,
                                             double first_wait_secs) {
  SessionManagerOptions options;
  options.local_init_op = scaffold.local_init_op();
  options.local_init_feeds = scaffold.local_init_feeds();
  options.ready_op = scaffold.ready_op();
  options.ready_for_local_init_op = scaffold.ready_for_local_init_op();
  options.recovery_wait_secs = recovery_wait_secs;
  options.first_wait_secs = first_wait_secs;
  options.pause = &pause;
  return std::make_unique<SessionManager>(graph, environment, options);
}

}  // namespace

ChiefSessionCreator::ChiefSessionCreator(NodeGraph& graph, const RunEnvironment& environment, Options options)
    : graph_(graph), environment_(environment), options_(std::move(options)) {
  if (options_.scaffold == nullptr) options_.scaffold = std::make_shared<SessionScaffold>();
}

CreatedSession ChiefSessionCreator::create_session() {
  SessionScaffold& scaffold = options_.scaffold->finalize(graph_);
  if (manager_ == nullptr) manager_ = make_manager(graph_, environment_, scaffold, pause(), 30, 0);
  PrepareArgs args;
  args.target = options_.target;
  args.init_op = scaffold.init_op();
  args.init_feeds = scaffold.init_feeds();
  args.initial_values = scaffold.initial_values();
  args.init_fn = scaffold.init_fn();
  args.saver = scaffold.saver();
  args.checkpoint_dir = options_.checkpoint_dir;
  args.checkpoint_filename_with_path = options_.checkpoint_filename_with_path;
  args.codec = options_.codec;
  return manager_->prepare_session(args);
}

WorkerSessionCreator::WorkerSessionCreator(NodeGraph& graph, const RunEnvironment& environment, Options options)
    : graph_(graph), environment_(environment), options_(std::move(options)) {
  if (options_.scaffold == nullptr) options_.scaffold = std::make_shared<SessionScaffold>();
}

CreatedSession WorkerSessionCreator::create_session() {
  SessionScaffold& scaffold = options_.scaffold->finalize(graph_);
  if (manager_ == nullptr)
    manager_ =
        make_manager(graph_, environment_, scaffold, pause(), options_.recovery_wait_secs, options_.first_wait_secs);
  return manager_->wait_for_session(options_.target, options_.max_wait_secs);
}

}  // namespace belay::runtime
