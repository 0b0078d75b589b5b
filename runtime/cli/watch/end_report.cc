// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/watch/end_report.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cxxabi.h>
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iostream>
#include <iterator>
#include <new>
#include <span>
#include <string_view>
#include <utility>

#include "runtime/checkpoint/format/names.h"
#include "runtime/checkpoint/read/restore_crashes.h"
#include "runtime/cli/arguments/exit_status.h"
#include "runtime/cli/watch/last_words.h"
#include "runtime/loader/library/load_guard.h"
#include "runtime/loader/library/loader.h"
#include "runtime/monitored/run/attempt_mark.h"
#include "runtime/platform/memory/memory.h"
#include "runtime/platform/process/last_word.h"
#include "runtime/platform/process/mapped_place.h"
#include "runtime/platform/process/process_copy.h"
#include "runtime/platform/process/resources.h"
#include "runtime/platform/process/signal_stack.h"
#include "runtime/platform/process/stacks.h"

namespace belay::runtime {
namespace {

struct NamedSignal {
  int number;
  std::string_view name;
};
constexpr NamedSignal kCrashes[] = {
    {SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"}, {SIGILL, "SIGILL"}, {SIGFPE, "SIGFPE"}, {SIGABRT, "SIGABRT"}};
// A plugin may have caused these by alarm, timers or a limit of processor time. Without a handler each ends the process
// without a message.
constexpr NamedSignal kOthers[] = {{SIGALRM, "SIGALRM"}, {SIGVTALRM, "SIGVTALRM"}, {SIGPROF, "SIGPROF"},
                                   {SIGXCPU, "SIGXCPU"}, {SIGSYS, "SIGSYS"},       {SIGTRAP, "SIGTRAP"}};

// A handler gets no argument of the host.
std::atomic<const EndReport*> current_report{nullptr};
std::atomic<bool> crashed{false};
std::atomic<bool> exits_watched{false};
std::atomic<int> status_at_end{-1};     // of the process; -1: the host has not ended
std::atomic<double> patience_secs{0};   // the longest time without progress; 0: for ever
std::atomic<bool> end_is_timed{false};  // SIGALRM means that this time is over

std::string_view name_of(int signal) {
  for (const NamedSignal& s : kCrashes)
    if (s.number == signal) return s.name;
  for (const NamedSignal& s : kOthers)
    if (s.number == signal) return s.name;
  return "a signal";
}

void say_call(LastWords& out, const PluginInstance& instance, const char* callback, std::int64_t step) {
  out << instance.label() << " in " << callback;
  if (step < 0) return;
  out << " at step " << step;
}

// The monitors show calls on this thread from before a handler ran, and calls on other threads.
bool say_meanwhile(LastWords& out) {
  const EndReport* report = current_report;
  if (report == nullptr) return false;
  bool said = false;
  for (const CallMonitor* m : report->monitors()) {
    const PluginInstance* instance = m->instance.load();
    const char* callback = m->callback.load();
    if (instance == nullptr || callback == nullptr) continue;
    out << (said ? "; " : "; meanwhile ");
    say_call(out, *instance, callback, m->step.load());
    said = true;
  }
  return said;
}

// Returns the innermost plugin whose code is on this stack; null: none.
const char* plugin_on(std::span<void* const> frames) {
  for (void* frame : frames)
    if (const char* path = plugin_at(static_cast<const char*>(frame) - 1)) return path;
  return nullptr;
}

// Writes the call of this thread: " in hook "x" (...) in after_run at step 17". False if it calls no plugin.
bool say_own_call(LastWords& out) {
  if (const char* path = library_being_loaded()) {
    out << " in plugin '" << path << "', while it was loaded";
    return true;
  }
  if (const auto call = PluginInstance::current()) {
    out << " in ";
    say_call(out, call->instance, call->callback, call->step);
    return true;
  }
  return false;
}

// If this thread calls no plugin, it writes the plugin whose code is on the stack, and the calls on other threads.
// False if no plugin is being called.
bool say_who(LastWords& out, std::span<void* const> frames) {
  if (say_own_call(out)) return true;
  const char* path = plugin_on(frames);
  if (path != nullptr) out << " in plugin '" << path << "', outside of its callbacks (its own thread, or a handler)";
  return say_meanwhile(out) || path != nullptr;
}

// Whether this stack leads through malloc or free. Then earlier code damaged the heap.
bool in_allocator(std::span<void* const> frames) {
  const void* const functions[] = {
      reinterpret_cast<const void*>(&::malloc),         reinterpret_cast<const void*>(&::free),
      reinterpret_cast<const void*>(&::calloc),         reinterpret_cast<const void*>(&::realloc),
      reinterpret_cast<const void*>(&::posix_memalign), reinterpret_cast<const void*>(&::aligned_alloc)};
  Dl_info info{};
  for (void* frame : frames)
    if (::dladdr(static_cast<const char*>(frame) - 1, &info) != 0 &&
        std::find(std::begin(functions), std::end(functions), info.dli_saddr) != std::end(functions))
      return true;
  return false;
}

// Writes the last calls of each thread that calls plugins: the latest first, and one for each plugin.
void say_past_calls(LastWords& out, std::string_view before) {
  const EndReport* report = current_report;
  if (report == nullptr) return;
  for (const CallMonitor* m : report->monitors()) {
    constexpr std::uint32_t kMost = CallMonitor::kPastCalls;
    const std::uint32_t n = m->n_past;
    const char* said[kMost] = {};  // labels
    for (std::uint32_t i = 0; i < std::min(n, kMost); ++i) {
      const PastCall& call = m->past[(n - 1 - i) % kMost];
      const PluginInstance* instance = call.instance;
      const char* callback = call.callback;
      if (instance == nullptr || callback == nullptr) continue;
      const char* label = instance->label().c_str();
      if (std::find(said, said + i, label) != said + i) continue;
      said[i] = label;
      out << std::exchange(before, "") << "  ";
      say_call(out, *instance, callback, call.step);
      out << "\n";
    }
  }
}

void say_next_start(LastWords& out) {
  const EndReport* report = current_report;
  if (report == nullptr) return;
  char text[512];
  const int file = report->state_file().empty() ? -1 : ::open(report->state_file().c_str(), O_RDONLY | O_CLOEXEC);
  const ssize_t n = file < 0 ? 0 : ::read(file, text, sizeof(text));
  const std::string_view line(text, n < 0 ? 0 : static_cast<std::size_t>(n));
  if (line.empty()) {
    out << "no checkpoint was written\n";
  } else {
    out << "the next start continues from: " << line.substr(0, line.find('\n')) << "\n";
  }
}

rlim_t limit_of_memory() noexcept {
  rlimit limit{};
  return ::getrlimit(RLIMIT_AS, &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
}

// The size of this process's address space; 0: not known.
rlim_t bytes_of_memory() noexcept {
  char text[64];
  const int file = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  const ssize_t n = file < 0 ? 0 : ::read(file, text, sizeof(text));
  if (file >= 0) ::close(file);
  rlim_t pages = 0;
  for (ssize_t i = 0; i < n && text[i] >= '0' && text[i] <= '9'; ++i)
    pages = pages * 10 + static_cast<rlim_t>(text[i] - '0');
  return pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE));
}

// Whether the limit of memory is reached. Then any thread may crash: some libraries do not check what malloc returned.
bool is_starved() noexcept {
  constexpr std::size_t kLittle = std::size_t{16} << 20;
  return limit_of_memory() != RLIM_INFINITY && !has_address_space(kLittle);
}

bool say_lowered_limit(LastWords& out) {
  const EndReport* report = current_report;
  const rlim_t now = limit_of_memory();
  if (report == nullptr || now >= report->memory_limit()) return false;
  out << "a plugin lowered the limit of memory (ulimit -v) to " << static_cast<std::int64_t>(now >> 10)
      << " KiB; loaded are:\n";
  each_loaded_plugin([](void* words, const char* path) { *static_cast<LastWords*>(words) << "  " << path << "\n"; },
                     &out);
  return true;
}

void say_starved(LastWords& out) {
  out << "there is no memory left: this process may use " << static_cast<std::int64_t>(limit_of_memory() >> 10)
      << " KiB of address space (ulimit -v), and uses " << static_cast<std::int64_t>(bytes_of_memory() >> 10)
      << " KiB\n  help: raise that limit, or set run.threads lower\n";
}

// Writes the mapped file at a read that caused SIGBUS.
void say_mapped_file(LastWords& out, const void* address) {
  static MappedPlace place;  // one crash is told
  if (!find_mapped_place(address, place)) return;
  struct stat status {};
  const bool shorter = ::stat(place.path, &status) == 0 && static_cast<std::uint64_t>(status.st_size) <= place.offset;
  out << "'" << place.path << "' is mapped into memory, and its byte " << static_cast<std::int64_t>(place.offset)
      << (shorter ? " is gone: the file became shorter while it was in use, and has " : " could not be read: ");
  if (shorter) {
    out << static_cast<std::int64_t>(status.st_size) << " bytes now; write another file, and rename it to this name\n";
  } else {
    out << "the file was cut for a moment, or its disk failed\n";
  }
}

void say_overwritten(LastWords& out) {
  each_overwritten_plugin(
      [](void* words, const char* path) {
        *static_cast<LastWords*>(words) << "plugin '" << path
                                        << "' changed since it was loaded: its file was overwritten, and so was the "
                                           "code that ran; install a library "
                                           "by a rename (cp NEW X.so.new && mv X.so.new X.so)\n";
      },
      &out);
}

constexpr int kFrames = 64;

// The crash in the report: that of the thread that crashed first.
struct Crash {
  LastWords out;
  const int signal;
  const void* const address;
  const bool after_end;  // of the run: a plugin did not end this thread
  const bool starved;    // see is_starved()
  bool facts_said = false, told_the_rest = false;

  // Writes all facts that need no stack. The stack may be missing, or end at an address that is no code any more.
  void say_facts() {
    facts_said = true;
    out << "\n";
    if (!after_end) say_next_start(out);
    if (signal == SIGBUS) say_mapped_file(out, address);
    say_overwritten(out);
    if (!after_end && !say_lowered_limit(out) && starved) say_starved(out);
    out.flush();
    if (is_process_copy() || after_end) return;
    WatchedRestore::note_crash();
    say_last_word();
  }
};

// A plugin may damage memory, and other code crashes later. This report cannot know which plugin did it.
void say_suspects(LastWords& out, bool in_heap, bool in_plugin) {
  if (in_heap)
    say_past_calls(out,
                   "the crash is in malloc or free: earlier code wrote outside of its memory, or freed memory of "
                   "others; the last calls of plugins were, the latest first:\n");
  else if (!in_plugin)
    say_past_calls(out, "this thread was in no plugin; the last calls of plugins were, the latest first:\n");
  out.flush();
}

void tell(Crash& crash) {
  if (crash.after_end)
    crash.out << "\nthe run has ended with status " << status_at_end << "; after that a thread crashed with ";
  else
    crash.out << "\nbelay crashed with ";
  crash.out << name_of(crash.signal);
  if (say_own_call(crash.out)) crash.say_facts();
  void* frames[kFrames];
  const int n = ::backtrace(frames, kFrames);
  const std::span<void* const> stack(frames, static_cast<std::size_t>(n));
  bool in_plugin = crash.facts_said;
  if (!in_plugin) {
    in_plugin = plugin_on(stack) != nullptr;
    say_who(crash.out, stack);
    crash.say_facts();
  }
  const bool of_memory = crash.signal == SIGSEGV || crash.signal == SIGBUS || crash.signal == SIGABRT,
             in_heap = of_memory && in_allocator(stack);
  if (of_memory && !crash.after_end && !crash.starved) say_suspects(crash.out, in_heap, in_plugin);
  // A copy could not allocate memory in this state.
  if (is_process_copy() || in_heap || !write_frames_in_copy(STDERR_FILENO, frames, n))
    ::backtrace_symbols_fd(frames, n, STDERR_FILENO);
}

// Writes the rest if tell() itself has crashed.
void tell_the_rest(Crash& crash) {
  if (std::exchange(crash.told_the_rest, true)) return;
  if (!crash.facts_said) {
    say_meanwhile(crash.out);
    crash.say_facts();
  }
  crash.out << "the stack cannot be read\n";
  crash.out.flush();
}

// Ends the process if a handler of exit, or a destructor of a global object, does not return. It runs in a signal
// handler: it allocates nothing.
[[noreturn]] void end_for_no_progress() {
  void* frames[kFrames];
  const int n = ::backtrace(frames, kFrames);
  const double seconds = patience_secs;
  LastWords out;
  out << "\nno progress for " << static_cast<std::int64_t>(seconds) << "."
      << static_cast<std::int64_t>(seconds * 10) % 10 << " s since the run ended with status 0";
  if (const char* path = plugin_on({frames, static_cast<std::size_t>(n)}))
    out << ", in plugin '" << path << "', in a handler of exit or a destructor of a global object";
  out << "; the stack follows, then the process ends with status " << std::int64_t{kExitNoProgress} << "\n";
  out.flush();
  if (!write_frames_in_copy(STDERR_FILENO, frames, n)) ::backtrace_symbols_fd(frames, n, STDERR_FILENO);
  end_now(kExitNoProgress);
}

// Another thread writes how the process ends.
void wait_for_its_end() {
  for (int i = 0; i < 50; ++i) ::usleep(100'000);
}

void handle_signal(int signal, siginfo_t* info, void*) {
  if (signal == SIGBUS && replace_lost_page(info->si_addr)) return;
  if (signal == SIGALRM && end_is_timed) end_for_no_progress();
  // Two threads may crash at once: the second one waits for the first to end the process. A thread that crashes inside
  // of this function does not wait.
  static thread_local Crash* telling = nullptr;
  if (!crashed.exchange(true)) {
    // A thread that a plugin did not end does not change how the run ended.
    const bool after_end = status_at_end >= 0 && ::gettid() != ::getpid() && !is_process_copy();
    Crash crash{{}, signal, info->si_addr, after_end, is_starved()};
    telling = &crash;
    tell(crash);
    if (after_end) end_now(status_at_end);
    if (crash.starved) end_now(kExitTrainingFailed);
  } else if (telling != nullptr) {
    tell_the_rest(*telling);
  } else {
    wait_for_its_end();
  }
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

// Ends the process after a std::bad_alloc that nothing caught, for example in a separate thread. Allocates nothing.
[[noreturn]] void end_for_want_of_memory() {
  if (crashed.exchange(true)) wait_for_its_end();
  const int ended = status_at_end;
  void* frames[kFrames];
  const std::span<void* const> stack(frames, static_cast<std::size_t>(::backtrace(frames, kFrames)));
  LastWords out;
  out << "\nbelay was ended by an allocation that failed (std::bad_alloc)";
  say_who(out, stack);
  out << "\n";
  say_next_start(out);
  if (!say_lowered_limit(out) && limit_of_memory() != RLIM_INFINITY) say_starved(out);
  out.flush();
  say_last_word();
  end_now(ended > 0 ? ended : kExitTrainingFailed);
}

std::terminate_handler terminate_before = nullptr;

// Every other exception that nothing caught is a crash.
[[noreturn]] void on_terminate() {
  if (abi::__cxa_current_exception_type() != nullptr && !is_process_copy()) {
    try {
      throw;
    } catch (const std::bad_alloc&) {
      end_for_want_of_memory();
    } catch (...) {
    }
  }
  terminate_before();
  std::abort();
}

// Returns the library that called exit, if it is no plugin. libgomp does it if it cannot start its threads.
const char* caller_of_exit(std::span<void* const> frames) {
  Dl_info own{}, c_library{}, info{};
  ::dladdr(reinterpret_cast<const void*>(&caller_of_exit), &own);
  ::dladdr(reinterpret_cast<const void*>(&::exit), &c_library);
  for (void* frame : frames)
    if (::dladdr(frame, &info) != 0 && info.dli_fbase != own.dli_fbase && info.dli_fbase != c_library.dli_fbase)
      return info.dli_fname;
  return nullptr;
}

[[noreturn]] void end_by_exit(std::string_view call, int status) {
  void* frames[kFrames];
  const std::span<void* const> stack(frames, static_cast<std::size_t>(::backtrace(frames, kFrames)));
  const bool in_plugin = PluginInstance::current() || library_being_loaded() != nullptr || plugin_on(stack) != nullptr;
  LastWords out;
  out << "\nbelay was ended by " << call;
  const char* library = in_plugin ? nullptr : caller_of_exit(stack);
  if (library != nullptr) {
    out << " in " << library;
  } else if (!say_who(out, stack)) {
    out << " in code that is no plugin's";
  }
  out << "\n";
  if (in_plugin) {
    out << "  help: a plugin must not end the process: return an error, or ask the session to stop\n";
  } else if (library != nullptr && std::strstr(library, "libgomp") != nullptr) {
    out << "  help: threads cannot be started: " << thread_limit_text() << "\n";
  }
  say_next_start(out);
  out.flush();
  say_last_word();
  end_now(in_plugin ? kExitPlugin : status == 0 ? kExitTrainingFailed : status);
}

void end_copy(int status) {
  std::fflush(nullptr);
  end_now(status);
}

void on_exit_of_process(int status, void*) {
  if (is_process_copy()) end_copy(status);
  const int wanted = status_at_end;
  if (wanted < 0) {
    char call[32];
    std::snprintf(call, sizeof(call), "exit(%d)", status);
    end_by_exit(call, status);
  }
  if (status != wanted) end_now(wanted);
}

void on_quick_exit_of_process() {
  if (is_process_copy()) return;
  const int wanted = status_at_end;
  if (wanted < 0) end_by_exit("quick_exit", 0);
  end_now(wanted);
}

// A plugin calls this instead of the C library's: `name` is "_exit" or "_Exit". The host itself calls end_now.
[[noreturn]] void end_at_once(const char* name, int status) {
  // A copy or a child may end in any way, and so may a program whose exits are not watched.
  if (!is_own_process() || !exits_watched) end_now(status);
  if (const int wanted = status_at_end; wanted >= 0) end_now(wanted);
  char call[32];
  std::snprintf(call, sizeof(call), "%s(%d)", name, status);
  end_by_exit(call, status);
}

void watch_exits() {
  if (exits_watched.exchange(true)) return;
  terminate_before = std::set_terminate(on_terminate);
  ::on_exit(on_exit_of_process, nullptr);
  ::at_quick_exit(on_quick_exit_of_process);
}

// A sanitizer has a better report.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kReportsCrashes = false;
#else
constexpr bool kReportsCrashes = true;
#endif

struct sigaction crash_action() {
  struct sigaction action {};
  action.sa_sigaction = &handle_signal;
  action.sa_flags = SA_ONSTACK | SA_NODEFER | SA_SIGINFO;
  return action;
}

void watch_signals() {
  if constexpr (!kReportsCrashes) return;
  static const SignalStack stack;  // the crash may be an overflow of the other stack
  const struct sigaction action = crash_action();
  for (const NamedSignal& s : kCrashes) ::sigaction(s.number, &action, nullptr);
  for (const NamedSignal& s : kOthers) {
    struct sigaction before {};
    if (::sigaction(s.number, nullptr, &before) == 0 && before.sa_handler == SIG_DFL)
      ::sigaction(s.number, &action, nullptr);
  }
}

// Handlers of exit run after the watchdog's end, so a timer watches them. A program that exec starts has no such timer.
void time_the_rest() {
  const double seconds = patience_secs;
  if (!kReportsCrashes || seconds <= 0) return;
  const struct sigaction action = crash_action();
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGALRM;
  timer_t timer{};
  if (::sigaction(SIGALRM, &action, nullptr) != 0 || ::timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) return;
  end_is_timed = true;
  const auto whole = static_cast<std::time_t>(seconds);
  const itimerspec once{{}, {whole, static_cast<long>((seconds - static_cast<double>(whole)) * 1e9)}};
  ::timer_settime(timer, 0, &once, nullptr);
}

}  // namespace

int leave(int status) {
  std::cout.flush();
  std::fflush(nullptr);
  status_at_end = status;
  if (status != kExitDone) end_now(status);
  time_the_rest();
  return status;
}

EndReport::EndReport(std::vector<const CallMonitor*> monitors, std::string run_directory, double no_progress_secs)
    : monitors_(std::move(monitors)),
      state_file_(run_directory.empty() ? "" : run_directory + "/" + std::string(kStateFileName)),
      memory_limit_(limit_of_memory()) {
  void* warm[2];
  ::backtrace(warm, 2);  // loads what it needs now
  current_report = this;
  patience_secs = no_progress_secs;
  watch_exits();
  watch_signals();
}

EndReport::~EndReport() { current_report = nullptr; }

}  // namespace belay::runtime

// The program exports these, so they come before the C library's, wherever a plugin calls them.
extern "C" {
[[gnu::visibility("default")]] void _exit(int status) { belay::runtime::end_at_once("_exit", status); }
[[gnu::visibility("default")]] void _Exit(int status) noexcept { belay::runtime::end_at_once("_Exit", status); }
}
