// SPDX-License-Identifier: Apache-2.0
// A plugin may take things that its host needs from the process: limits, which it changes, descriptors, or the run
// directory. What fails then is some later file or thread of the host's, whose error names no plugin.
//
//   TakenAway taken;                             // before the first plugin is loaded
//   taken.needs(registry, run_directory, true);  // while the plugins are known
//   log.warning("", taken.text());               // after their destroy, which is their code, too
#pragma once

#include <string>
#include <vector>

#include "runtime/loader/library/registry.h"
#include "runtime/platform/process/process_limits.h"

namespace belay::runtime {

class TakenAway {
 public:
  TakenAway() noexcept;
  ~TakenAway();
  TakenAway(const TakenAway&) = delete;
  TakenAway& operator=(const TakenAway&) = delete;

  // `directory`: that of the run, which is there now; empty: it has none. `stays`: at the end it is there as well.
  void needs(const Registry& plugins, const std::string& directory, bool stays);
  // With the libraries that may have done it: those that are not in the folder of Belay's own. Empty: nothing is gone.
  std::string text() const;

 private:
  bool is_closed() const noexcept;

  const ProcessLimits limits_;
  const int descriptor_;   // of /dev/null, which only its owner has a reason to close
  std::string directory_;  // empty: need not be there
  bool removed_ = false;
  std::vector<std::string> others_;  // libraries
};

}  // namespace belay::runtime
