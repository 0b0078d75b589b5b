// SPDX-License-Identifier: Apache-2.0
// Ends waits from outside. A CancellationSource is a flag with a reason, for all runs of a session. A CancelToken is
// one run's view of it, with the run's deadline. [any thread]
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>

#include "belay/error.h"
#include "runtime/platform/threads/clock.h"

namespace belay::runtime {

class CancellationSource {
 public:
  CancellationSource() = default;
  CancellationSource(const CancellationSource&) = delete;
  CancellationSource& operator=(const CancellationSource&) = delete;

  // Wakes all waiters. The first reason stays.
  void cancel(const Error& reason);
  void reset();
  bool cancelled() const noexcept { return cancelled_.load(std::memory_order_acquire); }
  // Throws the reason.
  void check() const {
    if (cancelled()) throw_reason();
  }

 private:
  friend class CancelToken;
  // While it lives, cancel() wakes this condition. Waiters are linked to each other, so waiting allocates nothing.
  class Waiter {
   public:
    Waiter(CancellationSource& source, std::mutex& mutex, std::condition_variable& changed);
    ~Waiter();
    Waiter(const Waiter&) = delete;
    Waiter& operator=(const Waiter&) = delete;

   private:
    friend class CancellationSource;
    CancellationSource& source_;
    std::mutex& waiting_;
    std::condition_variable& changed_;
    Waiter* next_;
  };
  [[noreturn]] void throw_reason() const;

  std::atomic<bool> cancelled_{false};
  mutable std::mutex mutex_;
  std::optional<Error> reason_;
  Waiter* waiters_ = nullptr;
};

class CancelToken {
 public:
  // `deadline_ns` is a time of clock.monotonic_ns(); 0: none.
  CancelToken(CancellationSource& source, Clock& clock, std::int64_t deadline_ns = 0)
      : source_(source), clock_(clock), deadline_ns_(deadline_ns) {}

  bool cancelled() const { return source_.cancelled() || (deadline_ns_ != 0 && clock_.monotonic_ns() >= deadline_ns_); }
  // Throws the source's reason, or DEADLINE_EXCEEDED.
  void check() const {
    source_.check();
    if (deadline_ns_ != 0 && clock_.monotonic_ns() >= deadline_ns_) throw_late();
  }
  // Waits on `changed` under `lock` until done(). Throws if the run is cancelled or late. The mutex and the condition
  // must outlive every cancel() of the source.
  template <class Done>
  void wait(std::unique_lock<std::mutex>& lock, std::condition_variable& changed, Done done) const {
    if (done()) return;
    const CancellationSource::Waiter waiter(source_, *lock.mutex(), changed);
    while (!done()) {
      check();
      if (deadline_ns_ != 0) {
        clock_.wait_until(lock, changed, deadline_ns_);
      } else {
        changed.wait(lock);
      }
    }
  }

 private:
  [[noreturn]] static void throw_late();

  CancellationSource& source_;
  Clock& clock_;
  std::int64_t deadline_ns_;
};

}  // namespace belay::runtime
