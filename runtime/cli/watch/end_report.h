// SPDX-License-Identifier: Apache-2.0
// The report if the process ends and the host did not end it. It crashes (SIGSEGV, SIGABRT, ...), or a plugin calls
// exit or quick_exit in a callback or a separate thread. The report names the plugin that was being called, or whose
// code called exit. It also names the checkpoint from which the next start continues. After a crash the process dies of
// the signal, as it would without this. An exit becomes status 3.
//
//   belay crashed with SIGSEGV in hook "x" (x.so 1.2, train.toml:14) in after_run at step 17
//   the next start continues from: model_checkpoint_path: "model.ckpt-10"
//   plugin '/opt/x.so' changed since it was loaded: ...
//   ./x.so(+0x1234)[0x7f...]
//
//   belay was ended by exit(0) in hook "x" (x.so 1.2, train.toml:14) in after_run at step 17
//
//   EndReport report(monitors, run_directory);   // before the first plugin is loaded
//   int main() { ...; return leave(status); }
//
// _exit, exec and a raw system call end the process before a report. The attempt's mark causes one at the next start
// (runtime/monitored/run/attempt_mark.h).
#pragma once

#include <sys/resource.h>

#include <string>
#include <vector>

#include "runtime/loader/instance/instance.h"

namespace belay::runtime {

// Returns the status, after the host has done its work. From now on no plugin's code can change it. If it is not 0, the
// process ends here, without the exit handlers that plugins left. If it is 0, they run. A handler that does not return
// within the last run's no_progress_secs is named, with status 124.
int leave(int status);

// A crash is reported from the construction until the process ends, and an exit is reported until leave(). While the
// object lives, the report has the running callbacks and the checkpoint to continue from. The monitors are borrowed;
// run_directory: empty if there is none. One at a time. [main], before other threads
class EndReport {
 public:
  EndReport(std::vector<const CallMonitor*> monitors, std::string run_directory, double no_progress_secs);
  ~EndReport();
  EndReport(const EndReport&) = delete;
  EndReport& operator=(const EndReport&) = delete;

  const std::vector<const CallMonitor*>& monitors() const noexcept { return monitors_; }
  const std::string& state_file() const noexcept { return state_file_; }
  // The limit at the construction, in bytes.
  rlim_t memory_limit() const noexcept { return memory_limit_; }

 private:
  const std::vector<const CallMonitor*> monitors_;
  const std::string state_file_;
  const rlim_t memory_limit_;
};

}  // namespace belay::runtime
