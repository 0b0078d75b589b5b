// SPDX-License-Identifier: Apache-2.0
#include "runtime/events/event_reader.h"

#include "belay/error.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {

bool EventReader::next(pb::Event& event) {
  const std::uint64_t begin = records_.offset();
  if (!records_.next(record_)) return false;
  if (!event.ParseFromString(record_))
    fail(Code::kDataLoss,
         "'" + escaped(file_->path()) + "': the record at byte " + std::to_string(begin) + " is no event");
  return true;
}

}  // namespace belay::runtime
