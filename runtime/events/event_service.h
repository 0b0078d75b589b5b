// SPDX-License-Identifier: Apache-2.0
// The service "events": the run's event file for plugins. Its context is the RunEvents.
#pragma once

#include <memory>
#include <string>

#include "belay/abi.h"
#include "runtime/events/event_writer.h"
#include "runtime/loader/instance/host.h"

namespace belay::runtime {

// The event file of one run. Without a run directory there is none, and every call does nothing.
class RunEvents {
 public:
  RunEvents() = default;
  RunEvents(OpenDirectory& directory, Clock& clock, Logger& log, double flush_secs = 120);
  // Returns null if the run keeps nothing.
  EventWriter* writer() noexcept { return writer_.get(); }

 private:
  std::unique_ptr<EventWriter> writer_;
};

const belay_events_api* events_service() noexcept;

}  // namespace belay::runtime
