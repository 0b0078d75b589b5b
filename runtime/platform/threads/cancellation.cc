// SPDX-License-Identifier: Apache-2.0
#include "runtime/platform/threads/cancellation.h"

#include <utility>
#include <vector>

namespace belay::runtime {

void CancellationSource::cancel(const Error& reason) {
  std::vector<std::pair<std::mutex*, std::condition_variable*>> waiters;
  {
    const std::lock_guard lock(mutex_);
    if (!reason_) reason_ = reason;
    cancelled_.store(true, std::memory_order_release);
    for (const Waiter* w = waiters_; w != nullptr; w = w->next_) waiters.emplace_back(&w->waiting_, &w->changed_);
  }
  // Taking the waiter's mutex ensures that it already sleeps, or has not read the flag yet. This object's mutex is not
  // held here, since a waiter takes it inside its own.
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
    : source_(source), waiting_(mutex), changed_(changed) {
  const std::lock_guard lock(source_.mutex_);
  next_ = std::exchange(source_.waiters_, this);
}

CancellationSource::Waiter::~Waiter() {
  const std::lock_guard lock(source_.mutex_);
  Waiter** at = &source_.waiters_;
  while (*at != this) at = &(*at)->next_;
  *at = next_;
}

void CancelToken::throw_late() { fail(Code::kDeadlineExceeded, "the run did not finish before its timeout"); }

}  // namespace belay::runtime
