// SPDX-License-Identifier: Apache-2.0
// Writes to the run's TensorBoard event file, which all hooks share. Without a run directory the calls write nothing.
//
//   void begin(belay::Graph&) override { events_.emplace(host()); }
//   void after_run(belay::RunContext&, const belay::RunValues& v) override { events_->scalar("my/norm", step, norm); }
//
// [session]: do not call it from a thread of the plugin. All records are buffered; the file has them at the latest when
// the run ends. The host reports errors of the disk as warnings; they are not errors here.
#pragma once

#include <cstdint>
#include <string_view>

#include "belay/host.h"

namespace belay {
inline namespace v0 {

// A view of the host's event file. It is cheap to make and valid as long as the host.
class Events {
 public:
  explicit Events(const Host& host) noexcept : host_(&host) {}
  // Adds one point to the curve `tag`, at this step. It is stored as float32, and NaN is stored too. A / in a tag
  // groups curves.
  void scalar(std::string_view tag, std::int64_t step, double value) const {
    detail::Status status;
    status.check(api().scalar(host_->raw(), detail::str(tag), step, value, status));
  }
  // Adds the bytes that a summary operation computes: a serialized Summary message. INVALID_ARGUMENT: other bytes.
  void summary(std::string_view summary, std::int64_t step) const {
    detail::Status status;
    status.check(api().summary(host_->raw(), detail::str(summary), step, status));
  }
  // Marks that this attempt begins at `step`. TensorBoard drops earlier points at or after it. The host does this for
  // each session, so a hook seldom needs it.
  void session_start(std::int64_t step) const {
    detail::Status status;
    status.check(api().session_log(host_->raw(), BELAY_SESSION_START, step, belay_str{nullptr, 0}, status));
  }
  // Returns when the file has all that was added. It costs a write; the host flushes at regular times.
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
