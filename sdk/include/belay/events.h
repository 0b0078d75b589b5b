// SPDX-License-Identifier: Apache-2.0
// Writing to the run's TensorBoard event file, which all hooks share. Without a run directory nothing is written,
// silently.
//
//   void begin(belay::Graph&) override { events_.emplace(host()); }
//   void after_run(belay::RunContext&, const belay::RunValues& v) override { events_->scalar("my/norm", step, norm); }
//
// [session]: not from a thread of the plugin's. Everything is buffered; the file has it at the latest when the run
// ends. Errors of the disk are warnings of the host's, not errors here.
#pragma once

#include <cstdint>
#include <string_view>

#include "belay/host.h"

namespace belay {
inline namespace v0 {

// A view of the host's event file; cheap to make, valid as long as the host.
class Events {
 public:
  explicit Events(const Host& host) noexcept : host_(&host) {}
  // One point of the curve `tag`, at this step; stored as float32. NaN is stored too. / in a tag groups curves.
  void scalar(std::string_view tag, std::int64_t step, double value) const {
    detail::Status status;
    status.check(api().scalar(host_->raw(), detail::str(tag), step, value, status));
  }
  // The bytes that a summary operation computes: a serialized Summary message. Bytes that are none are
  // INVALID_ARGUMENT.
  void summary(std::string_view summary, std::int64_t step) const {
    detail::Status status;
    status.check(api().summary(host_->raw(), detail::str(summary), step, status));
  }
  // "This attempt begins at `step`": points that an earlier attempt wrote at or after it are dropped by TensorBoard.
  // The host does it for each session; a hook seldom needs it.
  void session_start(std::int64_t step) const {
    detail::Status status;
    status.check(api().session_log(host_->raw(), BELAY_SESSION_START, step, belay_str{nullptr, 0}, status));
  }
  // All that was added is in the file when it returns. Costs a write; the host flushes at regular times.
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
