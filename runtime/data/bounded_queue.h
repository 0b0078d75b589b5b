// SPDX-License-Identifier: Apache-2.0
// The common part of all queues of a session: capacity, waiting, closing and stacking. Each kind chooses the next
// element. A padding queue's elements may differ in the open dimensions of its shapes. If they are dequeued together,
// zeros (strings: empty) pad their ends. [any thread]
//
// Its promises:
//   If an enqueue has added an element, a reader takes it, or the queue still has it. After a close, waiting enqueues
//   still get in, and readers end when these elements are taken.
//   Enqueues that wait for room get in by the order in which they began. Readers that wait for elements do, too.
//   One reader at a time gathers several elements. It may fail: late, cancelled, too few at the end, shapes that do not
//   stack. Then they are the oldest again, in their order, even if others have filled their places.
//   An enqueue refuses an element with other dtypes or shapes than the queue's. If one of several is so, none gets in.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/graph/queue.h"
#include "runtime/graph/shape.h"

namespace belay::runtime {

class BoundedQueue : public Queue {
 public:
  struct Options {
    std::string name;
    std::string type;  // for messages
    std::int64_t capacity = 1;
    bool pads = false;
    std::int64_t min_after_dequeue = 0;  // this many stay while the queue is open
    // The dtypes and shapes of every element's components; empty: not checked.
    std::vector<DType> dtypes = {};
    std::vector<Shape> shapes = {};
  };
  explicit BoundedQueue(Options options);

  void enqueue(QueueElement element, const CancelToken& cancel) override;
  void enqueue_many(std::vector<QueueElement> elements, const CancelToken& cancel) override;
  QueueElement dequeue(const CancelToken& cancel) override;
  bool wait_for_element(const CancelToken& cancel) override;
  QueueElement dequeue_many(std::int64_t n, bool at_most, const CancelToken& cancel) override;
  void close(bool cancel_pending) override;
  void close_with_error(const Error& error) override;
  void reopen() override;
  bool closed() const override;
  std::int64_t size() const override;
  const std::string& name() const override { return options_.name; }
  void recycle(QueueElement element) override;
  QueueElement spare() override;

 protected:
  // Returns which of `size` > 0 elements is next, counted from the oldest. One thread at a time calls it.
  virtual std::int64_t choose(std::int64_t size) = 0;

 private:
  // Callers that wait for their turn, in their order, linked to each other. So waiting allocates nothing.
  class Place;
  struct Line {
    Place* first = nullptr;
    Place* last = nullptr;
  };
  class Filling;
  class Gathered;
  // Returns how many elements may be taken now.
  std::int64_t available() const {
    return ended() ? size_ : std::max<std::int64_t>(size_ - options_.min_after_dequeue, 0);
  }
  // True if no element gets in any more.
  bool ended() const { return closed_ && filling_ == 0; }
  void put(QueueElement element, const Filling& filling, std::unique_lock<std::mutex>& lock, const CancelToken& cancel);
  QueueElement take_next();
  void keep_spare(QueueElement element);
  void give_back(std::vector<QueueElement> elements);
  void check_components(const QueueElement& element) const;
  [[noreturn]] void fail_closed() const;
  [[noreturn]] void fail_empty(std::int64_t requested, std::int64_t there) const;

  const Options options_;
  const std::shared_ptr<BufferPool> pool_ = BufferPool::make();
  mutable std::mutex mutex_;
  std::condition_variable not_full_;
  std::condition_variable not_empty_;
  Line writers_, readers_;
  std::vector<QueueElement>
      ring_;  // `capacity` places, or more after elements came back into a queue that was full again
  std::size_t first_ = 0;
  std::int64_t size_ = 0;
  std::int64_t filling_ = 0;  // enqueues that began before the close
  bool gathering_ = false;    // true: a reader has some of the elements that it needs
  bool closed_ = false;
  bool cancel_pending_ = false;
  std::optional<Error> error_;
  std::vector<QueueElement> spares_;
};

}  // namespace belay::runtime
