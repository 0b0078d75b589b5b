// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/bounded_queue.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "runtime/platform/threads/activity.h"

namespace belay::runtime {
namespace {

// Copies `from` into the corner of row `row` of `to`. The dims of `to`, without the first, are at least those of
// `from`.
void copy_padded(const DenseTensor& from, std::int64_t row, DenseTensor& to) {
  const Dims& in = from.dims();
  const Dims out(to.dims().begin() + 1, to.dims().end());
  const std::int64_t row_size = count_of(out);
  const std::int64_t run = in.empty() ? 1 : in.back();
  const std::int64_t runs = run == 0 ? 0 : from.elements() / run;
  std::vector<std::int64_t> at(in.size(), 0);
  for (std::int64_t r = 0; r < runs; ++r) {
    std::int64_t offset = row * row_size;
    std::int64_t stride = 1;
    for (std::size_t d = in.size(); d-- > 0;) {
      offset += at[d] * stride;
      stride *= out[d];
    }
    if (from.dtype() == DType::kString) {
      for (std::int64_t i = 0; i < run; ++i)
        to.set_text(static_cast<std::size_t>(offset + i), detail::view(from.data<belay_str>()[r * run + i]));
    } else {
      const std::size_t width = dtype_size(from.dtype());
      std::memcpy(to.data<std::byte>() + static_cast<std::size_t>(offset) * width,
                  from.data<std::byte>() + static_cast<std::size_t>(r * run) * width,
                  static_cast<std::size_t>(run) * width);
    }
    for (std::size_t d = in.size(); d-- > 1;) {  // the next run: all but the last dimension count
      if (++at[d - 1] < in[d - 1]) break;
      at[d - 1] = 0;
    }
  }
}

DenseTensor stacked(const std::vector<QueueElement>& elements, std::size_t component, bool pads, BufferPool* pool,
                    const std::string& queue) {
  const DenseTensor& first = elements[0].components[component];
  Dims dims = first.dims();
  for (const QueueElement& e : elements) {
    const Dims& other = e.components[component].dims();
    if (other.size() != dims.size() || (!pads && other != dims))
      fail(Code::kInvalidArgument,
           fmt::format("[B3001] queue '{}': elements of shapes {} and {} cannot be dequeued together{}", queue,
                       dims_text(first.dims()), dims_text(other), pads ? "" : "; a PaddingFIFOQueue would pad them"));
    for (std::size_t d = 0; d < dims.size(); ++d) dims[d] = std::max(dims[d], other[d]);
  }
  dims.insert(dims.begin(), static_cast<std::int64_t>(elements.size()));
  DenseTensor out(first.dtype(), dims, pool);
  if (first.dtype() != DType::kString && out.bytes() != 0) std::memset(out.data(), 0, out.bytes());
  for (std::size_t i = 0; i < elements.size(); ++i)
    copy_padded(elements[i].components[component], static_cast<std::int64_t>(i), out);
  return out;
}

// Lets a reader wait until `ready`.
template <class Ready>
void wait_for_input(const CancelToken& cancel, std::unique_lock<std::mutex>& lock, std::condition_variable& changed,
                    const Ready& ready) {
  std::optional<Doing> waiting;
  if (!ready()) waiting.emplace(Activity::kInputWait);
  cancel.wait(lock, changed, ready);
}

}  // namespace

// One running enqueue or dequeue. When it leaves, it wakes the next one in the line. Use it under the queue's lock.
class BoundedQueue::Place {
 public:
  Place(Line& line, std::condition_variable& changed) : line_(line), changed_(changed), before_(line.last) {
    (before_ == nullptr ? line_.first : before_->after_) = this;
    line_.last = this;
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  ~Place() {
    (before_ == nullptr ? line_.first : before_->after_) = after_;
    (after_ == nullptr ? line_.last : after_->before_) = before_;
    if (before_ == nullptr && after_ != nullptr) changed_.notify_all();
  }
  bool is_first() const noexcept { return before_ == nullptr; }

 private:
  Line& line_;
  std::condition_variable& changed_;
  Place* before_;
  Place* after_ = nullptr;
};

// Counts the running enqueues. A close waits for none of them; the readers wait for all. Use it under the queue's lock.
class BoundedQueue::Filling {
 public:
  explicit Filling(BoundedQueue& queue) : queue_(queue), place_(queue.writers_, queue.not_full_) {
    if (queue_.closed_) queue_.fail_closed();
    ++queue_.filling_;
  }
  Filling(const Filling&) = delete;
  Filling& operator=(const Filling&) = delete;
  ~Filling() {
    --queue_.filling_;
    if (queue_.ended()) queue_.not_empty_.notify_all();
  }
  bool is_first() const noexcept { return place_.is_first(); }

 private:
  BoundedQueue& queue_;
  const Place place_;
};

// The elements that one reader has taken and not yet returned. The other readers wait. Unless it is done(), the
// elements go back to their places.
class BoundedQueue::Gathered {
 public:
  Gathered(BoundedQueue& queue, std::unique_lock<std::mutex>& lock) : queue_(queue), lock_(lock) {
    queue_.gathering_ = true;
  }
  Gathered(const Gathered&) = delete;
  Gathered& operator=(const Gathered&) = delete;
  ~Gathered() {
    if (!lock_.owns_lock()) lock_.lock();
    if (!done_) queue_.give_back(std::move(elements));
    queue_.gathering_ = false;
    queue_.not_empty_.notify_all();
  }
  void done() noexcept { done_ = true; }

  std::vector<QueueElement> elements;

 private:
  BoundedQueue& queue_;
  std::unique_lock<std::mutex>& lock_;
  bool done_ = false;
};

BoundedQueue::BoundedQueue(Options options) : options_(std::move(options)) {
  ring_.resize(static_cast<std::size_t>(options_.capacity));
  spares_.reserve(ring_.size() + 2);
}

void BoundedQueue::check_components(const QueueElement& element) const {
  if (options_.dtypes.empty()) return;
  const auto wrong = [&](const std::string& what) {
    fail(Code::kInvalidArgument, fmt::format("[B3001] queue '{}': {}", options_.name, what));
  };
  if (element.components.size() != options_.dtypes.size())
    wrong(fmt::format("an element must have {} components, got {}", options_.dtypes.size(), element.components.size()));
  for (std::size_t i = 0; i < options_.dtypes.size(); ++i) {
    const DenseTensor& component = element.components[i];
    if (component.dtype() != options_.dtypes[i])
      wrong(fmt::format("component {} of an element must be {}, got {}", i, dtype_name(options_.dtypes[i]),
                        dtype_name(component.dtype())));
    if (i < options_.shapes.size() && !options_.shapes[i].allows(component.dims()))
      wrong(fmt::format("component {} of an element must have the shape {}, got {}", i, options_.shapes[i].text(),
                        dims_text(component.dims())));
  }
}

void BoundedQueue::fail_closed() const { fail(Code::kCancelled, options_.type + " '" + options_.name + "' is closed"); }

void BoundedQueue::put(QueueElement element, const Filling& filling, std::unique_lock<std::mutex>& lock,
                       const CancelToken& cancel) {
  const auto has_room = [&] { return filling.is_first() && size_ < options_.capacity; };
  cancel.wait(lock, not_full_, [&] { return has_room() || cancel_pending_; });
  if (cancel_pending_) fail_closed();
  ring_[(first_ + static_cast<std::size_t>(size_)) % ring_.size()] = std::move(element);
  ++size_;
  not_empty_.notify_all();
}

void BoundedQueue::enqueue(QueueElement element, const CancelToken& cancel) {
  check_components(element);
  std::unique_lock lock(mutex_);
  const Filling filling(*this);
  put(std::move(element), filling, lock, cancel);
}

void BoundedQueue::enqueue_many(std::vector<QueueElement> elements, const CancelToken& cancel) {
  for (const QueueElement& element : elements) check_components(element);
  std::unique_lock lock(mutex_);
  const Filling filling(*this);
  for (QueueElement& element : elements) put(std::move(element), filling, lock, cancel);
}

QueueElement BoundedQueue::take_next() {
  const auto chosen = static_cast<std::size_t>(choose(size_));
  if (chosen != 0) std::swap(ring_[first_], ring_[(first_ + chosen) % ring_.size()]);
  QueueElement element = std::move(ring_[first_]);
  first_ = (first_ + 1) % ring_.size();
  --size_;
  return element;
}

// The elements become the oldest again. Others may have filled their places. Then the queue has more than its capacity
// for a while, and accepts no more.
void BoundedQueue::give_back(std::vector<QueueElement> elements) {
  const auto held = static_cast<std::size_t>(size_);
  if (held + elements.size() > ring_.size()) {
    std::vector<QueueElement> larger(held + elements.size());
    for (std::size_t i = 0; i < held; ++i) larger[i] = std::move(ring_[(first_ + i) % ring_.size()]);
    ring_ = std::move(larger);
    first_ = 0;
  }
  for (; !elements.empty(); elements.pop_back()) {
    first_ = (first_ + ring_.size() - 1) % ring_.size();
    ring_[first_] = std::move(elements.back());
    ++size_;
  }
}

void BoundedQueue::fail_empty(std::int64_t requested, std::int64_t there) const {
  if (error_) throw Error(*error_);
  fail(Code::kOutOfRange, fmt::format("{} '{}' is closed and has insufficient elements (requested {}, current size {})",
                                      options_.type, options_.name, requested, there));
}

QueueElement BoundedQueue::dequeue(const CancelToken& cancel) {
  std::unique_lock lock(mutex_);
  const Place place(readers_, not_empty_);
  wait_for_input(cancel, lock, not_empty_, [&] { return place.is_first() && (available() > 0 || ended()); });
  if (size_ == 0) fail_empty(1, 0);
  QueueElement element = take_next();
  not_full_.notify_all();
  return element;
}

bool BoundedQueue::wait_for_element(const CancelToken& cancel) {
  std::unique_lock lock(mutex_);
  wait_for_input(cancel, lock, not_empty_, [&] { return !gathering_ && (available() > 0 || ended()); });
  if (size_ == 0 && error_) throw Error(*error_);
  return size_ != 0;
}

QueueElement BoundedQueue::dequeue_many(std::int64_t n, bool at_most, const CancelToken& cancel) {
  if (n < 1)
    fail(Code::kInvalidArgument, fmt::format("[B3001] queue '{}': cannot dequeue {} elements", options_.name, n));
  std::unique_lock lock(mutex_);
  const Place place(readers_, not_empty_);
  cancel.wait(lock, not_empty_, [&] { return place.is_first(); });
  Gathered taken(*this, lock);
  // If a reader wants more than the queue holds, the elements come in portions. The run's position is that of the last
  // one.
  while (static_cast<std::int64_t>(taken.elements.size()) < n) {
    wait_for_input(cancel, lock, not_empty_, [&] { return available() > 0 || ended(); });
    if (size_ == 0) break;
    taken.elements.push_back(take_next());
    not_full_.notify_all();
  }
  const auto have = static_cast<std::int64_t>(taken.elements.size());
  if (have == 0 || (have < n && !at_most)) fail_empty(n, have);
  lock.unlock();
  QueueElement out = spare();
  for (std::size_t c = 0; c < taken.elements[0].components.size(); ++c)
    out.components.push_back(stacked(taken.elements, c, options_.pads, pool_.get(), options_.name));
  out.input = taken.elements.back().input;
  out.position = taken.elements.back().position;
  taken.done();
  return out;
}

void BoundedQueue::close(bool cancel_pending) {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  cancel_pending_ = cancel_pending_ || cancel_pending;
  not_full_.notify_all();
  not_empty_.notify_all();
}

void BoundedQueue::close_with_error(const Error& error) {
  const std::lock_guard lock(mutex_);
  if (!error_) error_ = error;
  closed_ = cancel_pending_ = true;
  not_full_.notify_all();
  not_empty_.notify_all();
}

void BoundedQueue::reopen() {
  const std::lock_guard lock(mutex_);
  while (size_ > 0) keep_spare(take_next());
  closed_ = cancel_pending_ = false;
  error_.reset();
}

bool BoundedQueue::closed() const {
  const std::lock_guard lock(mutex_);
  return closed_;
}

std::int64_t BoundedQueue::size() const {
  const std::lock_guard lock(mutex_);
  return size_;
}

void BoundedQueue::recycle(QueueElement element) {
  element.components.clear();
  const std::lock_guard lock(mutex_);
  keep_spare(std::move(element));
}

void BoundedQueue::keep_spare(QueueElement element) {
  element.components.clear();
  element.input = nullptr;
  if (spares_.size() < spares_.capacity()) spares_.push_back(std::move(element));
}

QueueElement BoundedQueue::spare() {
  const std::lock_guard lock(mutex_);
  if (spares_.empty()) return {};
  QueueElement element = std::move(spares_.back());
  spares_.pop_back();
  return element;
}

}  // namespace belay::runtime
