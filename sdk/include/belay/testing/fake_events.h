// SPDX-License-Identifier: Apache-2.0
// Service "events": records that a plugin writes to the event file, in order. Without a run directory nothing is
// written, as in the host.
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "belay/testing/fake_host.h"

namespace belay {
inline namespace v0 {
namespace testing {

struct WrittenScalar {
  std::string tag;
  std::int64_t step;
  double value;
  friend bool operator==(const WrittenScalar& a, const WrittenScalar& b) {
    return a.tag == b.tag && a.step == b.step && a.value == b.value;
  }
  friend std::ostream& operator<<(std::ostream& out, const WrittenScalar& s) {
    return out << s.tag << "@" << s.step << "=" << s.value;
  }
};
struct WrittenSummary {
  std::string bytes;
  std::int64_t step;
};
struct WrittenSessionLog {
  std::int32_t kind;  // BELAY_SESSION_START, ...
  std::int64_t step;
  std::string path;
};

class FakeEvents {
 public:
  explicit FakeEvents(FakeHost& host) {
    host.set_service("events", &kEvents);
    host.set_context("events", this);
  }
  FakeEvents(const FakeEvents&) = delete;
  FakeEvents& operator=(const FakeEvents&) = delete;

  const std::vector<WrittenScalar>& scalars() const noexcept { return scalars_; }
  const std::vector<WrittenSummary>& summaries() const noexcept { return summaries_; }
  const std::vector<WrittenSessionLog>& session_logs() const noexcept { return session_logs_; }
  // All records in order, a line each: "scalar loss@3", "summary@3", "start@1", "flush".
  const std::vector<std::string>& order() const noexcept { return order_; }
  int flushes() const noexcept { return flushes_; }
  // Makes every later call fail with this error, like a full disk.
  void fail_with(const Error& error) { failure_ = error; }

 private:
  template <class F>
  static std::int32_t call(belay_host* raw, const char* slot, belay_status* status, F&& f) {
    return detail::guard(status, [&] {
      FakeHost& host = FakeHost::from(raw);
      host.require_thread(std::string("events.") + slot);
      FakeEvents& self = host.context<FakeEvents>("events");
      if (self.failure_) throw Error(*self.failure_);
      if (!host.run_directory.empty()) f(self);
    });
  }
  static std::int32_t scalar(belay_host* raw, belay_str tag, std::int64_t step, double value, belay_status* status) {
    return call(raw, "scalar", status, [&](FakeEvents& e) {
      e.scalars_.push_back({std::string(detail::view(tag)), step, value});
      e.order_.push_back("scalar " + e.scalars_.back().tag + "@" + std::to_string(step));
    });
  }
  static std::int32_t summary(belay_host* raw, belay_str bytes, std::int64_t step, belay_status* status) {
    return call(raw, "summary", status, [&](FakeEvents& e) {
      e.summaries_.push_back({std::string(detail::view(bytes)), step});
      e.order_.push_back("summary@" + std::to_string(step));
    });
  }
  static std::int32_t session_log(belay_host* raw, std::int32_t kind, std::int64_t step, belay_str path,
                                  belay_status* status) {
    return call(raw, "session_log", status, [&](FakeEvents& e) {
      if (kind < BELAY_SESSION_START || kind > BELAY_SESSION_CHECKPOINT)
        fail(Code::kInvalidArgument, "there is no session log kind " + std::to_string(kind));
      static constexpr const char* kKinds[] = {"start", "stop", "checkpoint"};
      e.session_logs_.push_back({kind, step, std::string(detail::view(path))});
      e.order_.push_back(std::string(kKinds[kind - BELAY_SESSION_START]) + "@" + std::to_string(step));
    });
  }
  static std::int32_t flush(belay_host* raw, belay_status* status) {
    return call(raw, "flush", status, [&](FakeEvents& e) {
      ++e.flushes_;
      e.order_.emplace_back("flush");
    });
  }
  static constexpr belay_events_api kEvents{sizeof(belay_events_api), 0,
                                            &FakeEvents::scalar,      &FakeEvents::summary,
                                            &FakeEvents::session_log, &FakeEvents::flush};

  std::vector<WrittenScalar> scalars_;
  std::vector<WrittenSummary> summaries_;
  std::vector<WrittenSessionLog> session_logs_;
  std::vector<std::string> order_;
  int flushes_ = 0;
  std::optional<Error> failure_;
};

}  // namespace testing
}  // namespace v0
}  // namespace belay
