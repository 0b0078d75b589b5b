// SPDX-License-Identifier: Apache-2.0
#include "runtime/events/event_service.h"

#include <fmt/core.h>

#include "runtime/platform/memory/checked_slot.h"
#include "runtime/platform/process/process_copy.h"

namespace belay::runtime {

RunEvents::RunEvents(OpenDirectory& directory, Clock& clock, Logger& log, double flush_secs) {
  EventWriterOptions options;
  options.flush_secs = flush_secs;
  options.on_warning = [&log](std::string_view text) { log.warning("events", text); };
  writer_ = std::make_unique<EventWriter>(directory, clock, std::move(options));
}

namespace {

using detail::guard;
using detail::view;

// Returns null in a copy of the process. The original process writes the records. The copy lacks the writer's thread,
// which may have held a lock at that moment.
EventWriter* writer_of(belay_host* host) {
  if (is_process_copy()) return nullptr;
  return InstanceHost::from(host).services().context<RunEvents>().writer();
}

std::int32_t scalar(belay_host* host, belay_str tag, std::int64_t step, double value, belay_status* status) {
  return guard(status, [&] {
    if (EventWriter* w = writer_of(host)) w->add_scalar(view(tag), step, value);
  });
}

std::int32_t summary(belay_host* host, belay_str bytes, std::int64_t step, belay_status* status) {
  return guard(status, [&] {
    if (EventWriter* w = writer_of(host)) w->add_summary(view(bytes), step);
  });
}

std::int32_t session_log(belay_host* host, std::int32_t kind, std::int64_t step, belay_str path, belay_status* status) {
  return guard(status, [&] {
    if (kind != BELAY_SESSION_START && kind != BELAY_SESSION_STOP && kind != BELAY_SESSION_CHECKPOINT)
      fail(Code::kInvalidArgument, fmt::format("there is no session log entry of kind {}", kind));
    if (EventWriter* w = writer_of(host))
      w->add_session_log(static_cast<EventWriter::SessionStatus>(kind), step, view(path));
  });
}

std::int32_t flush(belay_host* host, belay_status* status) {
  return guard(status, [&] {
    if (EventWriter* w = writer_of(host)) w->flush();
  });
}

constexpr belay_events_api kEventsApi{sizeof(belay_events_api),
                                      0,
                                      checked_in_copies<scalar, detail::name_of_events_scalar>,
                                      checked_in_copies<summary, detail::name_of_events_summary>,
                                      checked_in_copies<session_log, detail::name_of_events_session_log>,
                                      checked_in_copies<flush, detail::name_of_events_flush>};

}  // namespace

const belay_events_api* events_service() noexcept { return &kEventsApi; }

}  // namespace belay::runtime
