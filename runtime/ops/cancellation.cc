#include "runtime/ops/cancellation.h"

#include <algorithm>

namespace belay::runtime {

void CancellationSource::cancel(const Error& reason) {
  std::vector<std::pair<std::mutex*, std::condition_variable*>> waiters;
  {
    const std::lock_guard lock(mutex_);
    if (!reason_) reason_ = reason;
    cancelled_.store(true, std::memory_order_release);
    waiters = waiters_;
  }
  // Taking the waiter's mutex makes sure that it either sleeps already or has yet to look at the flag. Not under our
  // own mutex: a waiter takes ours inside its own.
  for (const auto& [mutex, changed] : waiters) {
    const std::lock_guard lock(*mutex);
    changed->notify_all();
  }
}

void CancellationSource::reset() {
  const std::lock_guard lock(mutex_);
  reason_.reset();
  cancelled_.store(false, std::memory_order_release);
}

void CancellationSource::throw_reason() const {
  const std::lock_guard lock(mutex_);
  if (reason_) throw Error(*reason_);
  fail(Code::kCancelled, "the run was cancelled");
}

CancellationSource::Waiter::Waiter(CancellationSource& source, std::mutex& mutex, std::condition_variable& changed)
    : source_(source), self_(&mutex, &changed) {
  const std::lock_guard lock(source_.mutex_);
  source_.waiters_.push_back(self_);
}

CancellationSource::Waiter::~Waiter() {
  const std::lock_guard lock(source_.mutex_);
  const auto it = std::find(source_.waiters_.begin(), source_.waiters_.end(), self_);
  if (it != source_.waiters_.end()) source_.waiters_.erase(it);
}

void CancelToken::throw_late() { fail(Code::kDeadlineExceeded, "the run did not finish before its timeout"); }

}  // namespace belay::runtime
