// What is said where the process crashes (SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT): the signal, the plugins that were
// being called, the stack of the thread that crashed, and the checkpoint that the next start goes on from. Then the
// process dies of that signal, as it would have without this.
//
//   belay crashed with SIGSEGV in hook "x" (x.so 1.2, train.toml:14) in after_run at step 17
//   ./x.so(+0x1234)[0x7f...]
//   the next start goes on from: model_checkpoint_path: "model.ckpt-10"
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/loader/instance.h"

namespace belay::runtime {

class CrashReport {
 public:
  // From now on, until it dies; one at a time. The monitors are borrowed; run_directory: empty where there is none.
  // [main], before other threads.
  CrashReport(std::vector<const CallMonitor*> monitors, std::string run_directory);
  ~CrashReport();
  CrashReport(const CrashReport&) = delete;
  CrashReport& operator=(const CrashReport&) = delete;

 private:
  static void handle(int signal);
  void write() const;

  const std::vector<const CallMonitor*> monitors_;
  const std::string state_file_;
  // A stack of its own: the crash may be an overflow of the other one.
  static constexpr std::size_t kStackBytes = 64 << 10;
  std::vector<unsigned char> stack_;
};

}  // namespace belay::runtime
