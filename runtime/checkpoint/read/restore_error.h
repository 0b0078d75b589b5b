// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "belay/error.h"

namespace belay::runtime {

// Checkpoints exist, but none can be restored, or the one to restore does not fit. The run refuses to start over. The
// command line exits with status 5.
class RestoreError : public Error {
 public:
  using Error::Error;
};

}  // namespace belay::runtime
