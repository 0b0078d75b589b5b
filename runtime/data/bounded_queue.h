// SPDX-License-Identifier: Apache-2.0
// What all queues of a session share: a capacity, waiting, closing and stacking. Which element is next is the kind's
// choice. A padding queue's elements may differ in the dimensions that its shapes leave open; dequeued together they
// are padded at their ends with zeros (strings: empty). [any thread]
//
// What it promises:
//   An element that an enqueue has put in is taken by a reader, or is still in the queue. A close lets the enqueues
//   that wait come in, and readers end when those are in and taken.
//   Enqueues that wait for room come in by the order in which they began; so do readers that wait for elements.
//   One reader at a time gathers several elements. If it fails (late, cancelled, too few at the end, shapes that cannot
//   be stacked), they are the oldest again, in their order, also where others have filled their places meanwhile.
//   An element of other dtypes or shapes than the queue's is refused by enqueue; of several none comes in.
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
    std::int64_t min_after_dequeue = 0;  // as many stay while the queue is open
    // Of the components that every element must have; empty: not checked.
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
  // Which of `size` > 0 elements is taken next, counted from the oldest. Called by one thread at a time.
  virtual std::int64_t choose(std::int64_t size) = 0;

 private:
  // Those who wait for their turn, in the order in which they came, linked to each other: waiting allocates nothing.
  class Place;
  struct Line {
    Place* first = nullptr;
    Place* last = nullptr;
  };
  class Filling;
  class Gathered;
  // How many may be taken now.
  std::int64_t available() const {
    return ended() ? size_ : std::max<std::int64_t>(size_ - options_.min_after_dequeue, 0);
  }
  // Nothing comes in any more.
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
      ring_;  // capacity places, or more once elements came back into a queue that was filled again
  std::size_t first_ = 0;
  std::int64_t size_ = 0;
  std::int64_t filling_ = 0;  // enqueues that began before the close
  bool gathering_ = false;    // a reader holds some of what it needs
  bool closed_ = false;
  bool cancel_pending_ = false;
  std::optional<Error> error_;
  std::vector<QueueElement> spares_;
};

}  // namespace belay::runtime
