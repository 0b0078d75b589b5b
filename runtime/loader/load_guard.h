// What a library may do to the process while it is loaded, undone or named.
#pragma once

#include <fenv.h>
#include <locale.h>

#include <chrono>
#include <condition_variable>
#include <locale>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace belay::runtime {

// Saves the floating-point mode of this thread (MXCSR and the x87 control word, FPCR on aarch64) and the locale. A
// library linked with -ffast-math sets flush-to-zero when it is loaded, which changes every number computed afterwards.
class ProcessStateGuard {
 public:
  ProcessStateGuard();
  static constexpr const char* kLocale = "the locale";
  // Puts everything back and tells what had changed: "the floating-point mode (flush-to-zero)", kLocale.
  std::vector<std::string> restore();

 private:
  fenv_t environment_;
  std::string locale_;
  locale_t thread_locale_;
  std::locale cxx_locale_;
};

// While one lives: if the process ends inside a library's own initializers, this names the library on stderr and makes
// the exit status 3. A throwing initializer calls std::terminate, which nobody can catch; one that calls exit(0) would
// end the run with success. If they are not done after `patience`, it says so on stderr, once: one that waits for a
// thread which loads a library itself waits for ever. One at a time. [main]
class LoadingScope {
 public:
  explicit LoadingScope(const std::string& path, std::chrono::milliseconds patience = std::chrono::seconds(10));
  ~LoadingScope();
  LoadingScope(const LoadingScope&) = delete;
  LoadingScope& operator=(const LoadingScope&) = delete;

 private:
  void watch(std::chrono::milliseconds patience);

  std::string path_;
  void (*terminate_before_)();
  std::mutex mutex_;
  std::condition_variable loaded_;
  bool is_loaded_ = false;
  std::thread watcher_;
};

}  // namespace belay::runtime
