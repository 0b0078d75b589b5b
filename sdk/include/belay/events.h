// SPDX-License-Identifier: Apache-2.0
// Writing to the run's TensorBoard event file, which all hooks share. Without a run directory nothing is written.
#pragma once

#include <cstdint>
#include <string_view>

#include "belay/host.h"

namespace belay {
inline namespace v0 {

class Events {
 public:
  explicit Events(const Host& host) noexcept : host_(&host) {}
  void scalar(std::string_view tag, std::int64_t step, double value) const {
    detail::Status status;
    status.check(api().scalar(host_->raw(), detail::str(tag), step, value, status));
  }
  // `summary`: the bytes that a summary operation gives.
  void summary(std::string_view summary, std::int64_t step) const {
    detail::Status status;
    status.check(api().summary(host_->raw(), detail::str(summary), step, status));
  }
  // "This attempt begins at `step`": points that an earlier attempt wrote at or after it are dropped by TensorBoard.
  void session_start(std::int64_t step) const {
    detail::Status status;
    status.check(api().session_log(host_->raw(), BELAY_SESSION_START, step, belay_str{nullptr, 0}, status));
  }
  void flush() const {
    detail::Status status;
    status.check(api().flush(host_->raw(), status));
  }

 private:
  const belay_events_api& api() const noexcept { return host_->services().events; }
  const Host* host_;
};

}  // namespace v0
}  // namespace belay
