// SPDX-License-Identifier: Apache-2.0
// Undoes or names changes to the process that a library makes while it is loaded.
#pragma once

#include <locale.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <locale>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "runtime/loader/library/library_mapping.h"

namespace belay::runtime {

// Saves the floating-point mode of this thread (MXCSR and the x87 control word, FPCR on aarch64) and the locale. A
// library linked with -ffast-math sets flush-to-zero when it is loaded. That changes every later number.
class ProcessStateGuard {
 public:
  ProcessStateGuard();
  static constexpr const char* kLocale = "the locale";
  // Restores everything and returns the changes: "the floating-point mode (flush-to-zero)", kLocale.
  std::vector<std::string> restore();

 private:
  const std::uint32_t vector_mode_;
  const std::uint16_t x87_mode_;
  std::string locale_;
  locale_t thread_locale_;
  std::locale cxx_locale_;
};

// Saves the handlers of all signals. Libraries that a plugin needs may install their own when they are loaded: UCX,
// which Open MPI 5 loads, does it for SIGHUP and for crashes. The host's handlers must stay.
class SignalHandlers {
 public:
  SignalHandlers() noexcept;
  // Puts each handler back that other code than the plugin's changed to a function. A runtime inside the plugin, such
  // as Go's, needs its handlers. Null: the plugin was not loaded.
  void restore(const LibraryMapping* plugin) const noexcept;

 private:
  std::array<struct sigaction, NSIG> before_;
};

inline constexpr std::chrono::milliseconds kLoadingPatience = std::chrono::seconds(10);

// Reports on stderr, once for each library, that its initializers are not done after `patience`. One that waits for a
// loading thread waits for ever. Has one thread, from the first begin() until rest() or its end. [main]
class LoadingWatch {
 public:
  explicit LoadingWatch(std::chrono::milliseconds patience = kLoadingPatience)
      : patience_(std::max(patience, std::chrono::milliseconds(1))) {}
  ~LoadingWatch() { rest(); }
  LoadingWatch(const LoadingWatch&) = delete;
  LoadingWatch& operator=(const LoadingWatch&) = delete;

  void begin(const std::string& path);
  void end();
  // Ends the thread.
  void rest();
  // Returns the library that is being loaded, or an empty text. Call it from any thread.
  std::string loading() const;

 private:
  using Clock = std::chrono::steady_clock;
  void watch();

  const std::chrono::milliseconds patience_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::string path_;  // empty: nothing is being loaded
  Clock::time_point deadline_;
  bool told_ = false;
  bool resting_ = false;
  std::thread thread_;
};

// Returns the library whose initializers run now, or null. For handlers; any thread.
const char* library_being_loaded() noexcept;

// If the process ends inside a library's initializers while this object lives, stderr names the library. The exit
// status is 3. A throwing initializer calls std::terminate, which cannot be caught. One that calls exit(0) or
// quick_exit(0) would end the run with success. Only one at a time. [main]
class LoadingScope {
 public:
  // Borrows the watch. std::system_error: no thread can be started for it.
  LoadingScope(const std::string& path, LoadingWatch& watch);
  ~LoadingScope();
  LoadingScope(const LoadingScope&) = delete;
  LoadingScope& operator=(const LoadingScope&) = delete;

  // The initializers called pthread_exit. This thread is the host's, and its stack is being unwound.
  [[noreturn]] void end_of_thread() const;

 private:
  std::string path_;
  LoadingWatch& watch_;
  void (*terminate_before_)();
};

}  // namespace belay::runtime
