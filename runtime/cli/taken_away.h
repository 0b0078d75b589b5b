// SPDX-License-Identifier: Apache-2.0
// What a plugin took from the process that its host needs: limits that it changed, descriptors that it closed. What
// fails then is some later file or thread of the host's, whose error names no plugin.
//
//   const TakenAway taken;        // before the first plugin is loaded
//   log.warning("", taken.text(registry));
#pragma once

#include <string>

#include "runtime/loader/registry.h"
#include "runtime/platform/process_limits.h"

namespace belay::runtime {

class TakenAway {
 public:
  TakenAway() noexcept;
  ~TakenAway();
  TakenAway(const TakenAway&) = delete;
  TakenAway& operator=(const TakenAway&) = delete;

  // With the libraries that may have done it: those that are not in the folder of Belay's own. Empty: nothing is gone.
  std::string text(const Registry& plugins) const;

 private:
  bool is_closed() const noexcept;

  const ProcessLimits limits_;
  const int descriptor_;  // of /dev/null, which only its owner has a reason to close
};

}  // namespace belay::runtime
