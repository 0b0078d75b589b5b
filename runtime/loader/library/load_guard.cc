// SPDX-License-Identifier: Apache-2.0
#include "runtime/loader/library/load_guard.h"

#include <fmt/core.h>

#include <cxxabi.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <exception>
#include <mutex>

#include "belay/error.h"
#include "runtime/platform/process/last_word.h"
#include "runtime/platform/process/process_copy.h"
#include "runtime/platform/text/text.h"
#include "runtime/platform/threads/floating_point.h"

namespace belay::runtime {
namespace {

// Handlers of exit and terminate have no argument for it.
std::atomic<const char*> current_library{nullptr};

void say(const std::string& text) {
  const ssize_t ignored = ::write(STDERR_FILENO, text.data(), text.size());
  (void)ignored;
}

std::string thrown() {
  const std::type_info* type = abi::__cxa_current_exception_type();
  if (type == nullptr) return "std::terminate was called";
  int status = 0;
  char* name = abi::__cxa_demangle(type->name(), nullptr, nullptr, &status);
  std::string text = std::string("it threw ") + (name == nullptr ? type->name() : name);
  std::free(name);
  try {
    throw;
  } catch (const std::exception& e) {
    return text + ": " + escaped(e.what());
  } catch (...) {
    return text;
  }
}

[[noreturn]] void on_terminate() {
  if (const char* path = current_library.load())
    say("error[B2040]: plugin '" + escaped(path) + "' failed in its own initializers while it was loaded: " + thrown() +
        "\n  help: initializers of global objects must not throw\n");
  say_last_word();
  end_now(kPluginFailure);
}

void end_while_loading(const std::string& how) {
  const char* path = current_library.load();
  if (path == nullptr || is_process_copy()) return;
  say("error[B2040]: plugin '" + escaped(path) + "' ended the process (" + how +
      ") while it was loaded\n  help: initializers of global objects must not call exit\n");
  say_last_word();
  end_now(kPluginFailure);
}

void on_exit_handler(int status, void*) { end_while_loading(fmt::format("exit status {}", status)); }
void on_quick_exit() { end_while_loading("quick_exit"); }

}  // namespace

ProcessStateGuard::ProcessStateGuard()
    : vector_mode_(vector_control()),
      x87_mode_(x87_control()),
      locale_(::setlocale(LC_ALL, nullptr)),
      thread_locale_(::uselocale(nullptr)) {}

std::vector<std::string> ProcessStateGuard::restore() {
  std::vector<std::string> changed;
  const bool x87_changed = x87_control() != x87_mode_;
  if (!vector_mode_is(vector_mode_) || x87_changed)
    changed.push_back(mode_change_text(vector_mode_, vector_control(), x87_changed));
  set_vector_control(vector_mode_);
  set_x87_control(x87_mode_);
  const bool cxx_changed = std::locale() != cxx_locale_, c_changed = locale_ != ::setlocale(LC_ALL, nullptr);
  if (cxx_changed) std::locale::global(cxx_locale_);
  if (c_changed || cxx_changed) ::setlocale(LC_ALL, locale_.c_str());
  const bool thread_changed = ::uselocale(nullptr) != thread_locale_;
  if (thread_changed) ::uselocale(thread_locale_);
  if (cxx_changed || c_changed || thread_changed) changed.emplace_back(kLocale);
  return changed;
}

SignalHandlers::SignalHandlers() noexcept : before_{} {
  for (int s = 1; s < NSIG; ++s) ::sigaction(s, nullptr, &before_[static_cast<std::size_t>(s)]);
}

void SignalHandlers::restore(const LibraryMapping* plugin) const noexcept {
  for (int s = 1; s < NSIG; ++s) {
    const struct sigaction& before = before_[static_cast<std::size_t>(s)];
    struct sigaction now {};
    if (::sigaction(s, nullptr, &now) != 0 || now.sa_handler == before.sa_handler) continue;
    const auto* function = reinterpret_cast<const void*>(now.sa_handler);
    const bool is_function = now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN;
    if (is_function && (plugin == nullptr || plugin->bytes_from(function) == 0)) ::sigaction(s, &before, nullptr);
  }
}

const char* library_being_loaded() noexcept { return current_library.load(); }

void LoadingWatch::begin(const std::string& path) {
  {
    const std::lock_guard lock(mutex_);
    path_ = path;
    told_ = false;
    deadline_ = Clock::now() + patience_;
  }
  // The thread is not woken. It wakes within `patience`, so no later than for this library.
  if (!thread_.joinable()) thread_ = std::thread([this] { watch(); });
}

void LoadingWatch::end() {
  const std::lock_guard lock(mutex_);
  path_.clear();
}

std::string LoadingWatch::loading() const {
  const std::lock_guard lock(mutex_);
  return path_;
}

void LoadingWatch::rest() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    resting_ = true;
  }
  changed_.notify_all();
  thread_.join();
  resting_ = false;
}

void LoadingWatch::watch() {
  std::unique_lock lock(mutex_);
  while (!resting_) {
    const Clock::time_point now = Clock::now();
    const bool waiting = !path_.empty() && !told_;
    if (waiting && now >= deadline_) {
      say(
          fmt::format("warning: plugin '{}' is still being loaded after {} s\n  help: initializers of global objects "
                      "must not wait for a thread; SIGQUIT shows where it is\n",
                      escaped(path_), std::chrono::duration_cast<std::chrono::seconds>(patience_).count()));
      told_ = true;
    }
    changed_.wait_until(lock, waiting && !told_ ? deadline_ : now + patience_);
  }
}

LoadingScope::LoadingScope(const std::string& path, LoadingWatch& watch)
    : path_(path), watch_(watch), terminate_before_(std::set_terminate(on_terminate)) {
  static std::once_flag registered;
  std::call_once(registered, [] {
    ::on_exit(on_exit_handler, nullptr);
    ::at_quick_exit(on_quick_exit);
  });
  try {
    watch_.begin(path_);
  } catch (...) {
    std::set_terminate(terminate_before_);
    throw;
  }
  current_library = path_.c_str();
}

void LoadingScope::end_of_thread() const {
  say("error[B2043]: plugin '" + escaped(path_) +
      "' ended the host's thread (pthread_exit) while it was loaded\n  help: "
      "initializers of global objects must return\n");
  say_last_word();
  end_now(kPluginFailure);
}

LoadingScope::~LoadingScope() {
  if (is_process_copy()) {
    say("error[B2044]: plugin '" + escaped(path_) +
        "' forked the process while it was loaded, and the copy came back: the "
        "copy ends here\n  help: a copy must call exec or _exit\n");
    end_now(kPluginFailure);
  }
  current_library = nullptr;
  watch_.end();
  std::set_terminate(terminate_before_);
}

}  // namespace belay::runtime
