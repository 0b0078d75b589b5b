// SPDX-License-Identifier: Apache-2.0
// A queue whose third enqueue throws an error of the test's choice.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "runtime/data/bounded_queue.h"
#include "runtime/session/direct_session.h"

namespace belay::runtime::testing {

class FailingQueue final : public BoundedQueue {
 public:
  FailingQueue(Options options, std::function<void()> fails)
      : BoundedQueue(std::move(options)), fails_(std::move(fails)) {}
  void enqueue(QueueElement element, const CancelToken& cancel) override {
    if (++enqueues_ == 3) fails_();
    BoundedQueue::enqueue(std::move(element), cancel);
  }

 protected:
  std::int64_t choose(std::int64_t) override { return 0; }

 private:
  const std::function<void()> fails_;
  int enqueues_ = 0;
};

// For DirectSessionOptions.queues.
inline QueueFactory failing_queues(std::function<void()> fails) {
  return [fails = std::move(fails)](const Node& node) {
    BoundedQueue::Options options;
    options.name = node.name;
    options.type = node.op->name;
    options.capacity = node.attrs.integer("capacity");
    return std::make_unique<FailingQueue>(options, fails);
  };
}

}  // namespace belay::runtime::testing
