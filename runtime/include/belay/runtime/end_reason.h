// SPDX-License-Identifier: Apache-2.0
// The reason that a training ended.
#pragma once

#include <string>

namespace belay {

struct EndReason {
  enum class Kind {
    kNone,           // it has not ended
    kStopRequested,  // a hook, a thread or the program asked for it
    kEndOfInput,     // the input has ended
    kError,          // the error left the session; `text` is its message
    kClosed          // close() without any of those
  };
  Kind kind = Kind::kNone;
  // A sentence for people: "stop_at_step: reached step 2000 (last_step = 2000)".
  std::string text = {};
};

}  // namespace belay
