// SPDX-License-Identifier: Apache-2.0
// A queue for queue operations. Implementations: runtime/data/bounded_queue.h. [any thread]
#pragma once

#include <string>
#include <vector>

#include "belay/input.h"
#include "runtime/graph/dense_tensor.h"
#include "runtime/platform/threads/cancellation.h"

namespace belay::runtime {

// One element: a tensor per component, and the position after it of the input that made it.
struct QueueElement {
  std::vector<DenseTensor> components;
  const std::string* input = nullptr;  // the input's name, which outlives the queue; null: none
  Position position;
};

class Queue {
 public:
  virtual ~Queue() = default;
  // Waits while the queue is full. CANCELLED: it is closed. An element that waits when the queue is closed still gets
  // in.
  virtual void enqueue(QueueElement element, const CancelToken& cancel) = 0;
  // Adds the elements in order, as room comes. If one of them does not fit, none gets in.
  virtual void enqueue_many(std::vector<QueueElement> elements, const CancelToken& cancel) = 0;
  // Waits while it is empty. OUT_OF_RANGE "... is closed and has insufficient elements": it is closed and empty.
  virtual QueueElement dequeue(const CancelToken& cancel) = 0;
  // Waits until a dequeue of one element would not wait, and returns true. False: it is closed and empty. If it was
  // closed with an error, that is thrown.
  virtual bool wait_for_element(const CancelToken& cancel) = 0;
  // Returns n elements stacked along a new first dimension. `at_most`: fewer if the queue is closed and has some. If it
  // fails, the elements that it took are in the queue again.
  virtual QueueElement dequeue_many(std::int64_t n, bool at_most, const CancelToken& cancel) = 0;
  // Takes back the emptied list of an element's components. spare() returns it, so that the next element needs no
  // memory.
  virtual void recycle(QueueElement element) = 0;
  virtual QueueElement spare() = 0;
  // Refuses new enqueues. Those that wait get in, or fail with cancel_pending. Elements in the queue stay.
  virtual void close(bool cancel_pending) = 0;
  // Closes it since its filler failed. Readers get the remaining elements, then this error.
  virtual void close_with_error(const Error& error) = 0;
  // Empties it and opens it again, for another pass of an input. No thread waits in it then.
  virtual void reopen() = 0;
  virtual bool closed() const = 0;
  virtual std::int64_t size() const = 0;
  virtual const std::string& name() const = 0;
};

}  // namespace belay::runtime
