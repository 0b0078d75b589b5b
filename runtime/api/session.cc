// SPDX-License-Identifier: Apache-2.0
#include "belay/runtime/session.h"

#include <utility>

#include "runtime/api/coordinator.h"
#include "runtime/api/graph.h"
#include "runtime/data/make_queue.h"
#include "runtime/data/queue_runner.h"
#include "runtime/graph/graph_service.h"
#include "runtime/session/direct_session.h"

namespace belay {

struct OwnedSession::Insides {
  // Keeps a graph frozen.
  class Frozen {
   public:
    explicit Frozen(runtime::NodeGraph& nodes) : nodes_(nodes) {
      nodes_.hold();
      nodes_.finalize();
    }
    ~Frozen() { nodes_.release(); }
    Frozen(const Frozen&) = delete;
    Frozen& operator=(const Frozen&) = delete;

   private:
    runtime::NodeGraph& nodes_;
  };

  Insides(runtime::NodeGraph& nodes, const SessionOptions& options)
      : frozen(nodes),
        session(std::make_shared<runtime::DirectSession>(nodes, std::make_shared<runtime::VariableStore>(),
                                                         runtime::DirectSessionOptions{options, runtime::make_queue})) {
  }

  const Frozen frozen;
  const std::shared_ptr<runtime::DirectSession> session;
};

OwnedSession::OwnedSession(OwnedGraph& graph, const SessionOptions& options)
    : OwnedSession(std::make_unique<Insides>(graph.insides().nodes, options)) {}

OwnedSession::OwnedSession(std::unique_ptr<Insides> insides)
    : Session(insides->session->handle()), insides_(std::move(insides)) {}

// A queue runner's thread keeps the session but not the graph, which may be destroyed next.
OwnedSession::~OwnedSession() {
  insides_->session->close();
  insides_->session->wait_for_runs();
}

void OwnedSession::close() { insides_->session->close(); }

bool OwnedSession::closed() const noexcept { return insides_->session->closed(); }

void OwnedSession::start_queue_runners(OwnedCoordinator& coordinator) {
  runtime::start_queue_runners(*insides_->session, coordinator.insides().coordinator.get());
}

void add_queue_runner(const Graph& graph, const QueueRunner& runner) {
  runtime::from_handle(graph.raw()).add_queue_runner(std::make_shared<runtime::OpQueueRunner>(runner));
}

}  // namespace belay
