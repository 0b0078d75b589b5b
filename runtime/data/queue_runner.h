// SPDX-License-Identifier: Apache-2.0
// Fills a queue while a session runs, with one thread per enqueue operation. It ends when the queue is closed or the
// coordinator stops. start_queue_runners starts all runners of a session's graph.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "belay/runtime/session.h"
#include "runtime/graph/queue_runner.h"
#include "runtime/platform/threads/coordinator.h"
#include "runtime/session/direct_session.h"

namespace belay::runtime {

// TensorFlow's runner: it runs each enqueue operation again and again. An error with a code in queue_closed_codes is a
// normal end of a thread. When the last thread has ended, the close operation runs. After another error the queue is
// closed with that: its readers get the remaining elements, then the error. With a coordinator a further thread waits
// for its stop. It then runs the cancel operation, which releases a waiting enqueue.
class OpQueueRunner final : public QueueFiller {
 public:
  // The default operations are made while the graph is open.
  using Options = belay::QueueRunner;
  explicit OpQueueRunner(Options options);
  const std::string& name() const override { return name_; }
  std::size_t fillers() const noexcept override { return enqueue_ops_.size(); }
  std::vector<std::shared_ptr<Joinable>> create_threads(const belay::Session& session,
                                                        Coordinator* coordinator) override;
  // Returns the errors of threads without a coordinator.
  std::vector<Error> exceptions_raised() const { return shared_->exceptions(); }

 private:
  // Outlives the runner as long as one of its threads runs.
  struct Running {
    int threads = 0;
    std::optional<Error> failure;  // the first failure among them
  };
  struct Shared {
    std::vector<Error> exceptions() const {
      const std::lock_guard lock(mutex);
      return raised;
    }
    // One thread of a session has ended. If it was the last, returns the result of the session's threads.
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

// Converts the exception that ended a queue's thread, for the queue's readers. An Error stays unchanged. Others get a
// description of the work. Call it only inside a catch clause.
Error filling_error(const std::string& queue, const std::string& by);

// Starts every runner of the session's graph. Returns their threads.
std::vector<std::shared_ptr<Joinable>> start_queue_runners(DirectSession& session, Coordinator* coordinator = nullptr);

// Returns the reason why a resumed run on this graph sees its input in another order; empty: it does not.
std::string why_resume_is_approximate(const NodeGraph& graph);

}  // namespace belay::runtime
