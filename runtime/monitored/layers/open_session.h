// SPDX-License-Identifier: Apache-2.0
// Holds the open raw session, and the requests of other threads to stop it. [any thread]
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "runtime/session/direct_session.h"

namespace belay::runtime {

class OpenSession {
 public:
  // Returns null while a recovery makes the session again, and after the end.
  std::shared_ptr<DirectSession> get() const;
  // A session was made. Its runs end at once if stop_now was called meanwhile.
  void set(const std::shared_ptr<DirectSession>& session);
  void reset();

  // The first reason counts.
  void request_stop(const std::string& reason);
  // Ends a running run with this error, but not the runs of the end. Call it after request_stop.
  void stop_now(const Error& stop);
  bool stop_requested() const noexcept { return stop_requested_; }
  bool stops_now() const noexcept { return stop_now_; }
  std::string stop_reason() const;
  // From now on stop_now interrupts nothing: the hooks' own runs are those of the end.
  void begin_end();

 private:
  mutable std::mutex mutex_;  // guards the next three
  std::shared_ptr<DirectSession> raw_;
  std::string stop_reason_;
  bool ending_ = false;
  std::atomic<bool> stop_now_{false};
  std::atomic<bool> stop_requested_{false};
};

}  // namespace belay::runtime
