// SPDX-License-Identifier: Apache-2.0
// A plugin may take from the process what its host needs: limits, descriptors, or the run directory. Then a later file
// or thread of the host fails, and the error names no plugin.
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

  // `directory`: the run's, which exists now; empty: it has none. `stays`: it must also exist at the end.
  void needs(const Registry& plugins, const std::string& directory, bool stays);
  // Returns what is gone, and the libraries that may be the cause: those outside of Belay's folder. Empty: nothing is
  // gone.
  std::string text() const;

 private:
  bool is_closed() const noexcept;

  const ProcessLimits limits_;
  const int descriptor_;   // of /dev/null, and only its owner has a reason to close it
  std::string directory_;  // empty: need not be there
  bool removed_ = false;
  std::vector<std::string> others_;  // libraries
};

}  // namespace belay::runtime
