// SPDX-License-Identifier: Apache-2.0
// A host for tests, without an engine: a log in memory, a clock under the test's control, a run directory, and services
// of the test. It implements the real tables, so a plugin sees no difference.
//
//   belay::testing::FakeHost host;
//   host.clock.advance(2.5);
//   EXPECT_EQ(host.logged().back(), "warning: the loss is not finite");
//
// Services: "core" is built in; the drivers in this folder add theirs with set_service. remove_service simulates a host
// without a service.
//
// The thread that makes the host acts as its [main] and [session] thread. A plugin may call a service from a forbidden
// thread, or with an invalid handle. The service then records a breach, and the drivers throw it after the callback.
#pragma once

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "belay/module.h"

namespace belay {
inline namespace v0 {
namespace testing {

class FakeClock {
 public:
  // Moves the clock. A plugin's threads may read it at the same time. [any]
  void advance(double seconds) { now_ns_ += static_cast<std::int64_t>(std::llround(seconds * 1e9)); }
  // From now on a wait of the plugin jumps to its deadline. Otherwise it waits until the test moves the clock.
  void jump_over_waits() { jumps_ = true; }
  bool jumps_over_waits() const { return jumps_; }
  std::int64_t monotonic_ns() const { return now_ns_; }
  std::int64_t wall_ns() const { return kStart + now_ns_; }

 private:
  static constexpr std::int64_t kStart = 1'600'000'000'000'000'000;  // 2020-09-13T12:26:40Z
  std::atomic<std::int64_t> now_ns_{0};
  std::atomic<bool> jumps_{false};
};

class FakeHost {
 public:
  explicit FakeHost(std::string instance_name = "under_test") : instance_name_(std::move(instance_name)) {
    set_service("core", &kCore);
  }
  FakeHost(const FakeHost&) = delete;
  FakeHost& operator=(const FakeHost&) = delete;

  FakeClock clock;
  std::string run_directory;
  std::uint64_t seed = 42;
  bool interactive = false;
  // The plugin's place in the run.
  std::int32_t mode = BELAY_MODE_TRAIN;  // 0: no session
  std::int32_t rank = 0, ranks = 1;
  std::atomic<bool> stopping{false};
  // Number of Host::DiskCall objects so far, and of those that have not ended.
  std::atomic<int> disk_calls{0}, disk_calls_under_way{0};
  std::int64_t attempt = 1;

  // Each line as "info: message".
  std::vector<std::string> logged() const {
    const std::lock_guard lock(mutex_);
    return lines_;
  }
  bool has_logged(std::string_view part) const {
    for (const std::string& line : logged())
      if (line.find(part) != std::string::npos) return true;
    return false;
  }
  void clear_log() {
    const std::lock_guard lock(mutex_);
    lines_.clear();
  }
  // The lines of status_line, oldest first.
  std::vector<std::string> status_lines() const {
    const std::lock_guard lock(mutex_);
    return status_lines_;
  }

  // Adds a service. `table` must outlive the host.
  void set_service(const std::string& name, const void* table) { services_[name] = table; }
  void remove_service(const std::string& name) { services_.erase(name); }
  // Sets the driver object that a service's functions use.
  void set_context(const std::string& name, void* context) { contexts_[name] = context; }
  template <class T>
  T& context(const std::string& name) const {
    return *static_cast<T*>(contexts_.at(name));
  }

  // Violations of the contract that no error could report, oldest first.
  std::vector<std::string> breaches() const {
    const std::lock_guard lock(mutex_);
    return breaches_;
  }
  void note_breach(std::string_view text) {
    const std::lock_guard lock(mutex_);
    breaches_.emplace_back(text);
  }
  // For services: returns false, and records a breach, on a thread other than the host's own. `call`: "events.scalar".
  bool check_thread(std::string_view call) {
    if (std::this_thread::get_id() == own_thread_) return true;
    note_breach(std::string(call) + " was called from a thread of the plugin; it belongs to the session's thread");
    return false;
  }
  // Does the same as an error.
  void require_thread(std::string_view call) {
    if (!check_thread(call)) fail(Code::kFailedPrecondition, breaches().back());
  }

  const belay_host_api* api() const noexcept { return &kHost; }
  belay_host* raw() noexcept { return reinterpret_cast<belay_host*>(this); }
  static FakeHost& from(belay_host* raw) noexcept { return *reinterpret_cast<FakeHost*>(raw); }

  // Makes an instance of a plugin by its table, with options that the host would have checked.
  template <class Api>
  Handle<Api> create(const Api* table, const std::vector<belay_named_value>& options = {}) {
    void* self = nullptr;
    detail::Status status;
    status.check(table->create(api(), raw(), options.data(), options.size(), &self, status));
    return Handle<Api>(table, self);
  }

 private:
  static const char* level_name(std::int32_t level) {
    return level >= BELAY_LOG_ERROR     ? "error"
           : level >= BELAY_LOG_WARNING ? "warning"
           : level >= BELAY_LOG_INFO    ? "info"
                                        : "debug";
  }
  static const void* service(belay_host* host, belay_str name) {
    const FakeHost& h = from(host);
    const auto it = h.services_.find(std::string(detail::view(name)));
    return it == h.services_.end() ? nullptr : it->second;
  }
  static void log(belay_host* host, std::int32_t level, belay_str text) {
    FakeHost& h = from(host);
    const std::lock_guard lock(h.mutex_);
    h.lines_.push_back(std::string(level_name(level)) + ": " + std::string(detail::view(text)));
  }
  static std::int32_t log_enabled(belay_host*, std::int32_t) { return 1; }
  static std::int64_t monotonic_ns(belay_host* host) { return from(host).clock.monotonic_ns(); }
  static std::int64_t wall_ns(belay_host* host) { return from(host).clock.wall_ns(); }
  static belay_str get_run_directory(belay_host* host) { return detail::str(from(host).run_directory); }
  static belay_str get_instance_name(belay_host* host) { return detail::str(from(host).instance_name_); }
  static std::uint64_t get_seed(belay_host* host) { return from(host).seed; }
  static std::int32_t get_interactive(belay_host* host) { return from(host).interactive ? 1 : 0; }
  static void status_line(belay_host* host, belay_str text) {
    FakeHost& h = from(host);
    const std::lock_guard lock(h.mutex_);
    h.status_lines_.emplace_back(detail::view(text));
  }

  static std::int32_t get_mode(belay_host* host) { return from(host).mode; }
  static std::int32_t get_rank(belay_host* host) { return from(host).rank; }
  static std::int32_t get_ranks(belay_host* host) { return from(host).ranks; }
  static std::int32_t is_chief(belay_host* host) { return from(host).rank == 0 ? 1 : 0; }
  static std::int64_t get_attempt(belay_host* host) { return from(host).attempt; }

  static void waits_for_disk(belay_host* host, std::int32_t begins) {
    if (begins != 0) ++from(host).disk_calls;
    from(host).disk_calls_under_way += begins != 0 ? 1 : -1;
  }

  static std::int32_t is_stopping(belay_host* host) { return from(host).stopping ? 1 : 0; }

  static constexpr belay_host_api kHost{sizeof(belay_host_api), 0, &FakeHost::service};
  static constexpr belay_core_api kCore{sizeof(belay_core_api),
                                        0,
                                        &FakeHost::log,
                                        &FakeHost::log_enabled,
                                        &FakeHost::monotonic_ns,
                                        &FakeHost::wall_ns,
                                        &FakeHost::get_run_directory,
                                        &FakeHost::get_instance_name,
                                        &FakeHost::get_seed,
                                        &FakeHost::get_interactive,
                                        &FakeHost::status_line,
                                        &FakeHost::get_mode,
                                        &FakeHost::get_rank,
                                        &FakeHost::get_ranks,
                                        &FakeHost::is_chief,
                                        &FakeHost::is_stopping,
                                        &FakeHost::get_attempt,
                                        &FakeHost::waits_for_disk};

  std::string instance_name_;
  const std::thread::id own_thread_ = std::this_thread::get_id();
  std::map<std::string, const void*> services_;
  std::map<std::string, void*> contexts_;
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
  std::vector<std::string> status_lines_;
  std::vector<std::string> breaches_;
};

}  // namespace testing
}  // namespace v0
}  // namespace belay
