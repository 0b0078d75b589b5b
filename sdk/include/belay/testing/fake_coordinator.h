// SPDX-License-Identifier: Apache-2.0
// Service "coordinator": the stop flag and the registered threads of a session. A test reads the requests, and may
// itself request a stop. A wait ends at a stop, or when the host's fake clock has passed the time.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "belay/testing/fake_host.h"

namespace belay {
inline namespace v0 {
namespace testing {

class FakeCoordinator {
 public:
  explicit FakeCoordinator(FakeHost& host) : host_(host) { host.set_service("coordinator", &kCoordinator); }
  FakeCoordinator(const FakeCoordinator&) = delete;
  FakeCoordinator& operator=(const FakeCoordinator&) = delete;

  bool should_stop() const {
    const std::lock_guard lock(mutex_);
    return stop_;
  }
  // The reason of the first request; later requests change nothing. The code is kOk for a plain stop.
  std::string reason() const {
    const std::lock_guard lock(mutex_);
    return reason_;
  }
  Code code() const {
    const std::lock_guard lock(mutex_);
    return code_;
  }
  void request_stop(Code code, std::string_view reason) {
    const std::lock_guard lock(mutex_);
    if (stop_) return;
    stop_ = true;
    code_ = code;
    reason_ = std::string(reason);
    changed_.notify_all();
  }
  // Requests a stop and joins the registered threads, each for at most `seconds` of real time. Returns the names of the
  // threads that have not ended. Throws the error of a thread.
  std::vector<std::string> stop_and_join(double seconds) {
    request_stop(Code::kOk, "the session is closed");
    std::vector<Registered> threads;
    {
      const std::lock_guard lock(mutex_);
      threads.swap(threads_);
    }
    std::vector<std::string> running;
    for (const Registered& t : threads) {
      detail::Status status;
      const std::int32_t code = t.join(t.arg, static_cast<std::int64_t>(seconds * 1e9), status);
      if (code == BELAY_DEADLINE_EXCEEDED) {
        running.push_back(t.name);
      } else {
        status.check(code);
      }
    }
    return running;
  }
  // Prepares a new session.
  void clear_stop() {
    const std::lock_guard lock(mutex_);
    stop_ = false;
    code_ = Code::kOk;
    reason_.clear();
  }

  belay_coordinator* raw() noexcept { return reinterpret_cast<belay_coordinator*>(this); }

 private:
  struct Registered {
    std::string name;
    std::int32_t (*join)(void*, std::int64_t, belay_status*);
    void* arg;
  };

  static FakeCoordinator& from(belay_coordinator* raw) noexcept { return *reinterpret_cast<FakeCoordinator*>(raw); }
  static std::int32_t get_should_stop(belay_coordinator* raw) { return from(raw).should_stop() ? 1 : 0; }
  static void ask_for_stop(belay_coordinator* raw, std::int32_t code, belay_str text) {
    const bool known =
        (code >= BELAY_OK && code <= BELAY_UNAUTHENTICATED) || (code >= BELAY_STOP && code <= BELAY_SKIP);
    if (!known) from(raw).host_.note_breach("request_stop was called with the unknown code " + std::to_string(code));
    from(raw).request_stop(static_cast<Code>(code), detail::view(text));
  }
  static std::int32_t wait_for_stop(belay_coordinator* raw, std::int64_t timeout_ns) {
    FakeCoordinator& self = from(raw);
    const std::int64_t start = self.host_.clock.monotonic_ns();
    std::unique_lock lock(self.mutex_);
    if (!self.stop_ && timeout_ns > 0 && self.host_.clock.jumps_over_waits())
      self.host_.clock.advance(static_cast<double>(timeout_ns) * 1e-9);
    while (!self.stop_ && (timeout_ns < 0 || self.host_.clock.monotonic_ns() - start < timeout_ns))
      self.changed_.wait_for(lock, std::chrono::milliseconds(1));  // the fake clock wakes no waiter
    return self.stop_ ? 1 : 0;
  }
  static std::int32_t register_thread(belay_coordinator* raw, belay_str name,
                                      std::int32_t (*join)(void*, std::int64_t, belay_status*), void* arg,
                                      belay_status* status) {
    return detail::guard(status, [&] {
      if (join == nullptr) fail(Code::kInvalidArgument, "register_thread needs a join function");
      const std::lock_guard lock(from(raw).mutex_);
      from(raw).threads_.push_back({std::string(detail::view(name)), join, arg});
    });
  }
  static std::int32_t unregister_thread(belay_coordinator* raw, void* arg, belay_status* status) {
    return detail::guard(status, [&] {
      FakeCoordinator& self = from(raw);
      const std::lock_guard lock(self.mutex_);
      for (auto at = self.threads_.begin(); at != self.threads_.end(); ++at) {
        if (at->arg != arg) continue;
        self.threads_.erase(at);
        return;
      }
      fail(Code::kNotFound, "no such thread is registered");
    });
  }
  static constexpr belay_coordinator_api kCoordinator{
      sizeof(belay_coordinator_api),      0,
      &FakeCoordinator::get_should_stop,  &FakeCoordinator::ask_for_stop,
      &FakeCoordinator::wait_for_stop,    &FakeCoordinator::register_thread,
      &FakeCoordinator::unregister_thread};

  FakeHost& host_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool stop_ = false;
  Code code_ = Code::kOk;
  std::string reason_;
  std::vector<Registered> threads_;
};

}  // namespace testing
}  // namespace v0
}  // namespace belay
