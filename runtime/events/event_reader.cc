// SPDX-License-Identifier: Apache-2.0
#include "runtime/events/event_reader.h"

#include <fmt/core.h>

#include "belay/error.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {

bool EventReader::next(pb::Event& event) {
  const std::uint64_t begin = records_.offset();
  if (!records_.next(record_)) return false;
  if (!event.ParseFromString(record_))
    fail(Code::kDataLoss, fmt::format("'{}': the record at byte {} is no event", escaped(file_->path()), begin));
  return true;
}

}  // namespace belay::runtime
