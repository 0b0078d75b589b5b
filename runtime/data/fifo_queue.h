// The queues of a session. [any thread]
//
// FIFO: first in, first out. A padding queue's elements may differ in the dimensions that its shapes leave open;
// dequeued together they are padded at their ends with zeros (strings: empty).
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/graph/node_graph.h"
#include "runtime/ops/queue.h"

namespace belay::runtime {

class FifoQueue final : public Queue {
 public:
  FifoQueue(std::string name, std::string type, std::int64_t capacity, bool pads);

  void enqueue(QueueElement element, const CancelToken& cancel) override;
  QueueElement dequeue(const CancelToken& cancel) override;
  QueueElement dequeue_many(std::int64_t n, bool at_most, const CancelToken& cancel) override;
  void close(bool cancel_pending) override;
  void close_with_error(const Error& error) override;
  bool closed() const override;
  std::int64_t size() const override;
  const std::string& name() const override { return name_; }
  void recycle(QueueElement element) override;
  QueueElement spare() override;

 private:
  QueueElement take_first();
  [[noreturn]] void fail_empty(std::int64_t requested) const;

  const std::string name_;
  const std::string type_;
  const std::int64_t capacity_;
  const bool pads_;
  const std::shared_ptr<BufferPool> pool_ = BufferPool::make();
  mutable std::mutex mutex_;
  std::condition_variable not_full_;
  std::condition_variable not_empty_;
  std::vector<QueueElement> ring_;  // capacity_ places
  std::size_t first_ = 0;
  std::int64_t size_ = 0;
  bool closed_ = false;
  bool cancel_pending_ = false;
  std::optional<Error> error_;
  std::vector<QueueElement> spares_;
};

// SessionOptions.queues: the queue that a node stands for.
std::unique_ptr<Queue> make_queue(const Node& node);

}  // namespace belay::runtime
