// What a library may do to the process while it is loaded, undone or named.
#pragma once

#include <fenv.h>
#include <locale.h>

#include <locale>
#include <string>
#include <vector>

namespace belay::runtime {

// Saves the floating-point mode of this thread (MXCSR and the x87 control word, FPCR on aarch64) and the locale. A
// library linked with -ffast-math sets flush-to-zero when it is loaded, which changes every number computed afterwards.
class ProcessStateGuard {
 public:
  ProcessStateGuard();
  // Puts everything back and tells what had changed: "the floating-point mode (flush-to-zero)", "the locale".
  std::vector<std::string> restore();

 private:
  fenv_t environment_;
  std::string locale_;
  locale_t thread_locale_;
  std::locale cxx_locale_;
};

// While one lives: if the process ends inside a library's own initializers, this names the library on stderr and makes
// the exit status 3. A throwing initializer calls std::terminate, which nobody can catch; one that calls exit(0) would
// end the run with success. One at a time. [main]
class LoadingScope {
 public:
  explicit LoadingScope(const std::string& path);
  ~LoadingScope();
  LoadingScope(const LoadingScope&) = delete;
  LoadingScope& operator=(const LoadingScope&) = delete;

 private:
  std::string path_;
  void (*terminate_before_)();
};

}  // namespace belay::runtime
