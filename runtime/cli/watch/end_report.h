// SPDX-License-Identifier: Apache-2.0
// The report if the process ends although the host does not end it: it crashes (SIGSEGV, SIGABRT, ...), or a
// plugin calls exit or quick_exit, in a callback or in a thread of its own. It names the plugin that was being called,
// or whose code called exit, and the checkpoint from which the next start continues. After a crash the process dies of
// the signal, as it would have without this; an exit becomes status 3.
//
//   belay crashed with SIGSEGV in hook "x" (x.so 1.2, train.toml:14) in after_run at step 17
//   the next start goes on from: model_checkpoint_path: "model.ckpt-10"
//   plugin '/opt/x.so' changed since it was loaded: ...
//   ./x.so(+0x1234)[0x7f...]
//
//   belay was ended by exit(0) in hook "x" (x.so 1.2, train.toml:14) in after_run at step 17
//
//   EndReport report(monitors, run_directory);   // before the first plugin is loaded
//   int main() { ...; return leave(status); }
//
// _exit, exec and a raw system call end the process before a report; the attempt's mark leads to one at the next start
// (runtime/monitored/run/attempt_mark.h).
#pragma once

#include <sys/resource.h>

#include <string>
#include <vector>

#include "runtime/loader/instance/instance.h"

namespace belay::runtime {

// The host has done its work: returns the status, and from now on no plugin's code can change it. If it is not 0 the
// process ends here, without the exit handlers that plugins left. If it is 0 they run, and one that does not return
// within the last run's no_progress_secs is named, with status 124.
int leave(int status);

// From the construction on a crash is reported, until the process ends, and an exit, until leave(). While the object
// lives the report has the callbacks that are in progress and the checkpoint to continue from. The monitors are
// borrowed; run_directory: empty if there is none. One at a time. [main], before other threads
class EndReport {
 public:
  EndReport(std::vector<const CallMonitor*> monitors, std::string run_directory, double no_progress_secs);
  ~EndReport();
  EndReport(const EndReport&) = delete;
  EndReport& operator=(const EndReport&) = delete;

  const std::vector<const CallMonitor*>& monitors() const noexcept { return monitors_; }
  const std::string& state_file() const noexcept { return state_file_; }
  // At the construction, in bytes.
  rlim_t memory_limit() const noexcept { return memory_limit_; }

 private:
  const std::vector<const CallMonitor*> monitors_;
  const std::string state_file_;
  const rlim_t memory_limit_;
};

}  // namespace belay::runtime
