// What all queues of a session share: a capacity, waiting, closing and stacking. Which element is next is the kind's
// choice. A padding queue's elements may differ in the dimensions that its shapes leave open; dequeued together they
// are padded at their ends with zeros (strings: empty). [any thread]
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/ops/queue.h"

namespace belay::runtime {

class BoundedQueue : public Queue {
 public:
  struct Options {
    std::string name;
    std::string type;  // for messages
    std::int64_t capacity = 1;
    bool pads = false;
    std::int64_t min_after_dequeue = 0;  // as many stay while the queue is open
    std::vector<DType> dtypes = {};      // of the components that every element must have; empty: not checked
  };
  explicit BoundedQueue(Options options);

  void enqueue(QueueElement element, const CancelToken& cancel) override;
  QueueElement dequeue(const CancelToken& cancel) override;
  QueueElement dequeue_many(std::int64_t n, bool at_most, const CancelToken& cancel) override;
  void close(bool cancel_pending) override;
  void close_with_error(const Error& error) override;
  bool closed() const override;
  std::int64_t size() const override;
  const std::string& name() const override { return options_.name; }
  void recycle(QueueElement element) override;
  QueueElement spare() override;

 protected:
  // Which of `size` > 0 elements is taken next, counted from the oldest. Called by one thread at a time.
  virtual std::int64_t choose(std::int64_t size) = 0;

 private:
  // How many may be taken now.
  std::int64_t available() const;
  QueueElement take_next();
  void check_components(const QueueElement& element) const;
  [[noreturn]] void fail_empty(std::int64_t requested) const;

  const Options options_;
  const std::shared_ptr<BufferPool> pool_ = BufferPool::make();
  mutable std::mutex mutex_;
  std::condition_variable not_full_;
  std::condition_variable not_empty_;
  std::vector<QueueElement> ring_;  // capacity places
  std::size_t first_ = 0;
  std::int64_t size_ = 0;
  bool closed_ = false;
  bool cancel_pending_ = false;
  std::optional<Error> error_;
  std::vector<QueueElement> spares_;
};

}  // namespace belay::runtime
