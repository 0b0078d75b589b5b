// SPDX-License-Identifier: Apache-2.0
// Fills a queue while a session runs, one thread per enqueue operation, until the queue is closed or the coordinator
// stops. start_queue_runners starts all runners of a session's graph.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "belay/ops/queues.h"
#include "runtime/graph/queue_runner.h"
#include "runtime/platform/coordinator.h"
#include "runtime/session/direct_session.h"

namespace belay::runtime {

// TensorFlow's runner: each enqueue operation is run again and again. An error whose code is in queue_closed_codes ends
// a thread without being one; when the last thread has ended the close operation runs. Behind another error the queue
// is closed with that instead: its readers get what is left, then the error. With a coordinator a further thread waits
// for its stop and runs the cancel operation, which releases an enqueue that waits.
class OpQueueRunner final : public QueueRunner {
 public:
  struct Options {
    ops::QueueRef queue;
    std::vector<Output> enqueue_ops;
    Output close_op = {};   // default: close, keeping what is in the queue; made while the graph is open
    Output cancel_op = {};  // default: close, cancelling pending enqueues
    std::vector<Code> queue_closed_codes = {Code::kOutOfRange};
  };
  explicit OpQueueRunner(Options options);
  const std::string& name() const override { return name_; }
  std::size_t fillers() const noexcept override { return enqueue_ops_.size(); }
  std::vector<std::shared_ptr<Joinable>> create_threads(const belay::Session& session,
                                                        Coordinator* coordinator) override;
  // What threads without a coordinator failed with.
  std::vector<Error> exceptions_raised() const { return shared_->exceptions(); }

 private:
  // Outlives the runner as long as a thread of it runs.
  struct Running {
    int threads = 0;
    std::optional<Error> failure;  // the first of them that failed
  };
  struct Shared {
    std::vector<Error> exceptions() const {
      const std::lock_guard lock(mutex);
      return raised;
    }
    // One thread of a session has ended. Where it was the last: what the session's threads ended with.
    std::optional<Running> ended(const DirectSession& session, const std::optional<Error>& failure);
    void close(DirectSession& session, const std::optional<Error>& failure) const;

    mutable std::mutex mutex;
    std::map<const DirectSession*, Running> running;
    std::vector<Error> raised;
    std::vector<Code> queue_closed_codes;
    std::string queue_name;
    std::uint32_t queue_node = 0;
    Output close_op;
  };
  static void fill(const std::shared_ptr<Shared>& shared, const std::shared_ptr<DirectSession>& session,
                   const std::shared_ptr<Coordinator>& coordinator, const Output& enqueue_op,
                   const std::string& op_name);

  std::string name_;
  std::vector<Output> enqueue_ops_;
  Output cancel_op_;
  std::shared_ptr<Shared> shared_;
};

// The exception that a thread which fills a queue ends with, as the queue's readers get it: an Error as it is; another
// one says what was being done. Only inside a catch clause.
Error filling_error(const std::string& queue, const std::string& by);

// Starts every runner of the session's graph. Returns their threads.
std::vector<std::shared_ptr<Joinable>> start_queue_runners(DirectSession& session, Coordinator* coordinator = nullptr);

// Why a run on this graph that goes on from a checkpoint sees its input in another order; empty: it does not.
std::string why_resume_is_approximate(const NodeGraph& graph);

}  // namespace belay::runtime
