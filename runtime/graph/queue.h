// SPDX-License-Identifier: Apache-2.0
// What queue operations work on. Implementations: runtime/data/bounded_queue.h. [any thread]
#pragma once

#include <string>
#include <vector>

#include "belay/input.h"
#include "runtime/graph/dense_tensor.h"
#include "runtime/platform/cancellation.h"

namespace belay::runtime {

// One element: a tensor per component, and where the input that made it is after it.
struct QueueElement {
  std::vector<DenseTensor> components;
  const std::string* input = nullptr;  // its name, which outlives the queue; null: none
  Position position;
};

class Queue {
 public:
  virtual ~Queue() = default;
  // Waits while it is full. Closed: CANCELLED. What waits when the queue is closed still comes in.
  virtual void enqueue(QueueElement element, const CancelToken& cancel) = 0;
  // One after the other, as room comes. Nothing comes in where one of them does not fit.
  virtual void enqueue_many(std::vector<QueueElement> elements, const CancelToken& cancel) = 0;
  // Waits while it is empty. Closed and empty: OUT_OF_RANGE "... is closed and has insufficient elements".
  virtual QueueElement dequeue(const CancelToken& cancel) = 0;
  // Waits until a dequeue of one would not: true. False once it is closed and empty; what it was closed with is thrown.
  virtual bool wait_for_element(const CancelToken& cancel) = 0;
  // n elements stacked along a new first dimension; at_most: fewer where the queue is closed and holds some. Where it
  // fails, what it had taken is in the queue again.
  virtual QueueElement dequeue_many(std::int64_t n, bool at_most, const CancelToken& cancel) = 0;
  // The emptied list of an element's components comes back, so that the next one needs no memory: spare() returns it.
  virtual void recycle(QueueElement element) = 0;
  virtual QueueElement spare() = 0;
  // No enqueue begins any more; those that wait come in, or with cancel_pending fail. What is in the queue stays.
  virtual void close(bool cancel_pending) = 0;
  // Closes it because what fills it failed: readers get what is left, then this error.
  virtual void close_with_error(const Error& error) = 0;
  // Empties it and opens it again, for another pass of an input. No one waits in it then.
  virtual void reopen() = 0;
  virtual bool closed() const = 0;
  virtual std::int64_t size() const = 0;
  virtual const std::string& name() const = 0;
};

}  // namespace belay::runtime
