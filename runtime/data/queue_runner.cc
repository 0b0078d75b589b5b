// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/queue_runner.h"

#include <fmt/core.h>

#include <algorithm>

#include "runtime/platform/process/current_error.h"
#include "runtime/platform/text/text.h"
#include "runtime/session/session_service.h"

namespace belay::runtime {

Error filling_error(const std::string& queue, const std::string& by) {
  try {
    throw;
  } catch (const Error& e) {
    return e;
  } catch (...) {
    const Error e = current_error();
    return Error(e.code(), "filling queue '" + queue + "' by " + by + ": " + std::string(e.message()));
  }
}

OpQueueRunner::OpQueueRunner(Options options) : enqueue_ops_(std::move(options.enqueue_ops)) {
  if (!options.queue.handle) fail(Code::kInvalidArgument, "[B3009] a queue runner needs a queue");
  if (enqueue_ops_.empty()) fail(Code::kInvalidArgument, "[B3009] a queue runner needs at least one enqueue operation");
  if (options.queue_closed_codes.empty())
    fail(Code::kInvalidArgument, "[B3009] a queue runner needs at least one code that means a closed queue");
  name_ = options.queue.handle.graph().node_name_of(options.queue.handle);
  shared_ = std::make_shared<Shared>();
  shared_->queue_closed_codes = std::move(options.queue_closed_codes);
  shared_->queue_name = name_;
  shared_->queue_node = options.queue.handle.raw().node;
  shared_->close_op = options.close_op ? options.close_op : ops::queue_close(options.queue, false);
  cancel_op_ = options.cancel_op ? options.cancel_op : ops::queue_close(options.queue, true);
}

void OpQueueRunner::fill(const std::shared_ptr<Shared>& shared, const std::shared_ptr<DirectSession>& session,
                         const std::shared_ptr<Coordinator>& coordinator, const Output& enqueue_op,
                         const std::string& op_name) {
  std::optional<Error> error;
  try {
    FetchSet fetches(std::vector<FetchRef>{enqueue_op});
    RunRequest request;
    request.fetches = &fetches;
    while (coordinator == nullptr || !coordinator->should_stop()) session->run(request);
  } catch (...) {
    error = filling_error(shared->queue_name, "'" + op_name + "'");
  }
  const auto& clean = shared->queue_closed_codes;
  const bool closed = error && std::find(clean.begin(), clean.end(), error->code()) != clean.end();
  const bool stopping = coordinator != nullptr && coordinator->should_stop();
  if (closed || stopping) error.reset();
  // The queue comes first. So its readers see the error, and not the end that the coordinator's stop causes.
  if (const auto last = shared->ended(*session, error); last && !session->closed())
    shared->close(*session, last->failure);
  if (!error) return;
  if (coordinator != nullptr) {
    coordinator->stop_on_exception([&] { throw Error(*error); });
  } else {
    const std::lock_guard lock(shared->mutex);
    shared->raised.push_back(*error);
  }
}

std::optional<OpQueueRunner::Running> OpQueueRunner::Shared::ended(const DirectSession& session,
                                                                   const std::optional<Error>& failure) {
  const std::lock_guard lock(mutex);
  const auto at = running.find(&session);
  if (failure && !at->second.failure) at->second.failure = failure;
  if (--at->second.threads != 0) return std::nullopt;
  Running last = std::move(at->second);
  running.erase(at);
  return last;
}

void OpQueueRunner::Shared::close(DirectSession& session, const std::optional<Error>& failure) const {
  try {
    // If the queue was closed before, the failed enqueue is not the cause of the end.
    if (failure && session.queue(queue_node).closed()) return;
    if (failure) {
      session.queue(queue_node).close_with_error(*failure);
    } else {
      session.handle().run({close_op});
    }
  } catch (const Error&) {
    // The session ends at this moment, and its queues with it.
  }
}

std::vector<std::shared_ptr<Joinable>> OpQueueRunner::create_threads(const belay::Session& session,
                                                                     Coordinator* coordinator) {
  const std::shared_ptr<DirectSession> shared_session = from_handle(session.raw()).shared_from_this();
  {
    const std::lock_guard lock(shared_->mutex);
    if (shared_->running.count(shared_session.get()) != 0) return {};
    shared_->running[shared_session.get()].threads = static_cast<int>(enqueue_ops_.size());
    shared_->raised.clear();
  }
  const std::shared_ptr<Coordinator> shared_coordinator =
      coordinator == nullptr ? nullptr : coordinator->shared_from_this();
  std::vector<std::shared_ptr<Joinable>> threads;
  std::shared_ptr<Joinable> closing;
  std::size_t to_start = enqueue_ops_.size();
  try {
    // The thread that ends the others starts first. If one of them cannot start, the coordinator ends the started ones.
    if (coordinator != nullptr) {
      closing = std::make_shared<Thread>("QueueRunnerThread-" + name_ + "-close_on_stop",
                                         [shared_session, shared_coordinator, cancel = cancel_op_] {
                                           shared_coordinator->wait_for_stop(-1);
                                           shared_coordinator->stop_on_exception([&] {
                                             if (!shared_session->closed()) shared_session->handle().run({cancel});
                                           });
                                         });
      coordinator->register_thread(closing);
    }
    for (const Output& op : enqueue_ops_) {
      // The name is taken here, since a thread whose wait ends with the session may outlive the graph.
      const std::string name = op.graph().node_name_of(op);
      threads.push_back(std::make_shared<Thread>("QueueRunnerThread-" + name_ + "-" + name,
                                                 [shared = shared_, shared_session, shared_coordinator, op, name] {
                                                   fill(shared, shared_session, shared_coordinator, op, name);
                                                 }));
      --to_start;
      if (coordinator != nullptr) coordinator->register_thread(threads.back());
    }
  } catch (...) {
    for (; to_start > 0; --to_start) shared_->ended(*shared_session, std::nullopt);
    throw;
  }
  if (closing != nullptr) threads.push_back(closing);
  return threads;
}

std::vector<std::shared_ptr<Joinable>> start_queue_runners(DirectSession& session, Coordinator* coordinator) {
  std::vector<std::shared_ptr<Joinable>> threads;
  for (const auto& runner : session.graph().queue_runners())
    for (auto& t : runner->create_threads(session.handle(), coordinator)) threads.push_back(std::move(t));
  return threads;
}

std::string why_resume_is_approximate(const NodeGraph& graph) {
  std::vector<std::string> reasons;
  for (std::uint32_t id = 0; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    if (node.op->name == "RandomShuffleQueue") reasons.push_back("'" + node.name + "' is a random-shuffle queue");
    if (node.op->name == "EpochRows") reasons.push_back("'" + node.name + "' begins with its first epoch again");
  }
  for (const auto& runner : graph.queue_runners())
    if (runner->fillers() > 1)
      reasons.push_back(fmt::format("'{}' is filled by {} threads", runner->name(), runner->fillers()));
  return joined(reasons, "; ");
}

}  // namespace belay::runtime
