#include "runtime/cli/crash_report.h"

#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <string_view>

#include "runtime/checkpoint/names.h"

namespace belay::runtime {
namespace {

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};

// A handler gets no argument of ours.
std::atomic<const CrashReport*> current{nullptr};

std::string_view name_of(int signal) {
  switch (signal) {
    case SIGSEGV: return "SIGSEGV";
    case SIGBUS: return "SIGBUS";
    case SIGILL: return "SIGILL";
    case SIGFPE: return "SIGFPE";
    default: return "SIGABRT";
  }
}

// Nothing here allocates or locks: the crash may have come from inside malloc.
void say(std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(STDERR_FILENO, text.data(), text.size());
    if (n < 0 && errno != EINTR) return;
    if (n > 0) text.remove_prefix(static_cast<std::size_t>(n));
  }
}

void say(std::int64_t number) {
  char text[24];
  say(std::string_view(text, static_cast<std::size_t>(std::to_chars(text, text + sizeof(text), number).ptr - text)));
}

}  // namespace

CrashReport::CrashReport(std::vector<const CallMonitor*> monitors, std::string run_directory)
    : monitors_(std::move(monitors)),
      state_file_(run_directory.empty() ? "" : run_directory + "/" + std::string(kStateFileName)),
      stack_(kStackBytes) {
  void* warm[2];
  ::backtrace(warm, 2);  // loads what it needs now
  const stack_t stack{stack_.data(), 0, stack_.size()};
  ::sigaltstack(&stack, nullptr);
  current = this;
  struct sigaction action {};
  action.sa_handler = &CrashReport::handle;
  action.sa_flags = SA_ONSTACK | SA_RESETHAND | SA_NODEFER;
  for (const int s : kSignals) ::sigaction(s, &action, nullptr);
}

CrashReport::~CrashReport() {
  for (const int s : kSignals) ::signal(s, SIG_DFL);
  current = nullptr;
  stack_t none{};
  none.ss_flags = SS_DISABLE;
  ::sigaltstack(&none, nullptr);
}

void CrashReport::handle(int signal) {
  // Two threads may crash at once: the second one waits for the first to end the process.
  if (const CrashReport* report = current.exchange(nullptr); report != nullptr) {
    say("\nbelay crashed with ");
    say(name_of(signal));
    report->write();
  } else {
    for (int i = 0; i < 50; ++i) ::usleep(100'000);
  }
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

void CrashReport::write() const {
  bool first = true;
  for (const CallMonitor* m : monitors_) {
    const PluginInstance* instance = m->instance.load();
    const char* callback = m->callback.load();
    if (instance == nullptr || callback == nullptr) continue;
    say(first ? " in " : "; ");
    first = false;
    say(instance->label());
    say(" in ");
    say(callback);
    if (const std::int64_t step = m->step.load(); step >= 0) {
      say(" at step ");
      say(step);
    }
  }
  say("\n");
  constexpr int kFrames = 64;
  void* frames[kFrames];
  ::backtrace_symbols_fd(frames, ::backtrace(frames, kFrames), STDERR_FILENO);
  char text[512];
  const int file = state_file_.empty() ? -1 : ::open(state_file_.c_str(), O_RDONLY | O_CLOEXEC);
  const ssize_t n = file < 0 ? 0 : ::read(file, text, sizeof(text));
  const std::string_view line(text, n < 0 ? 0 : static_cast<std::size_t>(n));
  if (line.empty()) {
    say("no checkpoint was written\n");
  } else {
    say("the next start goes on from: ");
    say(line.substr(0, line.find('\n')));
    say("\n");
  }
}

}  // namespace belay::runtime
