// SPDX-License-Identifier: Apache-2.0
#include "runtime/loader/instance/instance.h"

#include <cxxabi.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <utility>

#include "runtime/platform/log/plugin_words.h"
#include "runtime/platform/memory/guarded_memory.h"
#include "runtime/platform/process/last_word.h"
#include "runtime/platform/process/process_copy.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

// Some codes steer the run from some callbacks (the table in abi.h). Returns the reason why this one does not from
// here. Null: it does, or it steers from none.
const char* why_it_steers_not(Code code, std::string_view callback) {
  const bool in_step = callback == "before_run" || callback == "after_run";
  switch (code) {
    case Code::kOutOfRange:
      return callback == "next" ? nullptr
                                : "OUT_OF_RANGE ends no run from here: only an input's next ends one with it; a value "
                                  "that is out of its range is INVALID_ARGUMENT";
    case Code::kStop:
      return in_step || callback == "next" ? nullptr
                                           : "STOP ends no run from here: before_run, after_run and an input's next "
                                             "end one with it; after_save can ask to stop";
    case Code::kSkip:
      return callback == "before_save" ? nullptr : "SKIP leaves out no checkpoint from here: only before_save does";
    default: return nullptr;
  }
}

// Returns the plugin's error on one line. A code that steers the run only from other callbacks is an error. Otherwise
// the run would end as if it was done.
Error said_in(std::string_view callback, std::int32_t code, std::string_view message) {
  Error said = error_of(code, message);
  const char* why = why_it_steers_not(said.code(), callback);
  if (why == nullptr) return said;
  return {Code::kFailedPrecondition, std::string(said.message()) + " (" + why + ")"};
}

// Describes the current exception: "std::runtime_error: boom".
std::string current_exception_text() {
  const std::type_info* type = abi::__cxa_current_exception_type();
  std::string name = "an exception of unknown type";
  if (type != nullptr) {
    int status = 0;
    char* demangled = abi::__cxa_demangle(type->name(), nullptr, nullptr, &status);
    name = demangled == nullptr ? type->name() : demangled;
    std::free(demangled);
  }
  try {
    throw;
  } catch (const std::exception& e) {
    return name + ": " + escaped(detail::text_of(e));
  } catch (...) {
    return name;
  }
}

// Ends at once: the caller's stack is being unwound, or is a copy's.
[[noreturn]] void end_process(std::string_view text) {
  const ssize_t ignored = ::write(STDERR_FILENO, text.data(), text.size());
  (void)ignored;
  if (!is_process_copy()) say_last_word();
  end_now(kPluginFailure);
}

}  // namespace

PluginInstance::PluginInstance(const RegisteredPlugin& plugin, const ResolvedPlugin& use, const HostServices& services,
                               CallMonitor& monitor, std::uint32_t number)
    : plugin_(plugin),
      host_(services, use.instance_name),
      monitor_(monitor),
      number_(number),
      label_(plugin.label(use.instance_name, use.at)) {
  try {
    create(use);
  } catch (...) {
    monitor_.forget(this);
    throw;
  }
}

namespace {

std::unique_ptr<RegisteredPlugin> own_plugin(const std::string& name) {
  auto plugin = std::make_unique<RegisteredPlugin>();
  plugin->info.kind = PluginKind::kHook;
  plugin->info.name = name;
  return plugin;
}

}  // namespace

PluginInstance::PluginInstance(const std::string& name, const MakeHook& make, const HostServices& services,
                               CallMonitor& monitor)
    : own_plugin_(own_plugin(name)),
      plugin_(*own_plugin_),
      host_(services, name),
      monitor_(monitor),
      label_("hook \"" + escaped(name) + "\"") {
  own_hook_ = make(InstanceHost::api(), host_.raw());
  self_ = own_hook_.self();
  own_plugin_->table = adopt_table(PluginKind::kHook, own_hook_.table());
}

void PluginInstance::create(const ResolvedPlugin& use) {
  const auto failed = [&](Code code, const std::string& text) {
    fail(code, at_text(use.at) + "cannot create " + plugin_.label(use.instance_name) +
                   (plugin_.file.empty() ? "" : " of '" + escaped(plugin_.file) + "'") + ": " + text);
  };
  ThreadOfCalls thread;
  const ThreadOfCalls::Scope scope(thread, *this, "create");
  detail::Status status;
  std::int32_t code = BELAY_OK;
  std::string thrown;
  try {
    code = std::visit(
        [&](const auto& table) {
          return table.create(InstanceHost::api(), host_.raw(), use.options.data(), use.options.size(), &self_, status);
        },
        plugin_.table);
  } catch (...) {
    refuse_end_of_thread("create");
    thrown = current_exception_text();
  }
  thread.put_mode_back();
  // If create failed, there is no instance, for any `self`, as abi.h states.
  const char* left =
      self_ == nullptr ? "" : "; it left an instance, which is never destroyed: a create that fails frees its own";
  if (!thrown.empty()) failed(Code::kUnknown, "it let an exception escape: " + thrown + left);
  if (code != BELAY_OK) {
    const Error said = said_in("create", code, status.message());
    failed(said.code(), std::string(said.message()) + left);
  }
  if (self_ == nullptr) failed(Code::kInternal, "it returned no instance (self is null)");
  if (const void* table = extension(BELAY_INTERRUPT_EXTENSION))
    interrupt_ = detail::adopt(static_cast<const belay_interrupt_api*>(table));
}

const void* PluginInstance::extension(std::string_view name) const noexcept {
  const auto ask = [&](const auto& table) { return table.extension(self_, detail::str(name)); };
  try {
    return poisoned() ? nullptr : std::visit(ask, plugin_.table);
  } catch (...) {
    log_escape("extension");
    return nullptr;
  }
}

std::int32_t PluginInstance::call_join(const std::function<std::int32_t(belay_status*)>& join) {
  ThreadOfCalls thread;
  const ThreadOfCalls::Scope scope(thread, *this, "join");
  detail::Status status;
  std::int32_t code = BELAY_OK;
  try {
    code = join(status);
  } catch (...) {
    thread.put_mode_back();
    poison("join");
  }
  thread.put_mode_back();
  if (code != BELAY_OK && code != BELAY_DEADLINE_EXCEEDED) fail_callback("join", code, status.message());
  return code;
}

void PluginInstance::interrupt() noexcept {
  host_.set_stopping(true);
  if (poisoned() || !interrupt_) return;
  monitor_.interrupting = this;
  struct Done {
    std::atomic<const PluginInstance*>& interrupting;
    const PluginInstance* self;
    ~Done() { interrupting.compare_exchange_strong(self, nullptr); }
  } done{monitor_.interrupting, this};
  try {
    interrupt_->interrupt(self_);
  } catch (...) {
    log_escape("interrupt");
  }
}

PluginInstance::~PluginInstance() {
  if (!poisoned() && self_ != nullptr && !own_hook_) destroy();  // a program's hook dies with its handle
  monitor_.forget(this);
}

void PluginInstance::destroy() noexcept {
  ThreadOfCalls thread;
  const ThreadOfCalls::Scope scope(thread, *this, "destroy");
  try {
    std::visit([&](const auto& table) { table.destroy(self_); }, plugin_.table);
  } catch (...) {
    log_escape("destroy");
  }
  thread.put_mode_back();
}

void PluginInstance::warn(const std::string& text) const { host_.services().logger().warning(name(), text); }
void PluginInstance::inform(const std::string& text) const { host_.services().logger().info(name(), text); }

void PluginInstance::log_escape(const char* callback) const {
  refuse_end_of_thread(callback);
  host_.services().logger().error(
      name(), label_ + " let an exception escape from " + callback + ": " + current_exception_text());
}

void PluginInstance::tell_of_mode(std::uint32_t before, std::uint32_t after, const char* callback) const noexcept {
  if (mode_told_.exchange(true)) return;
  try {
    warn(place(callback) + ": it changed " + mode_change_text(before, after, false) +
         " of the thread that called it, which was put back, now and whenever it does it again");
  } catch (const std::exception&) {
    mode_told_ = false;  // the log has no memory now; the mode counts
  }
}

std::string PluginInstance::place(const char* callback) const {
  const std::int64_t step = monitor_.step.load(std::memory_order_relaxed);
  return label_ + " in " + callback + (step < 0 ? "" : fmt::format(" at step {}", step));
}

void PluginInstance::fail_callback(const char* callback, std::int32_t code, std::string_view text) const {
  const Error said = said_in(callback, code, text);
  fail(said.code(), place(callback) + ": " + std::string(said.message()));
}

void PluginInstance::fail_poisoned(const char* callback) const {
  fail(Code::kFailedPrecondition,
       fmt::format("{}: [B2041] it is not called any more, since it let an exception escape from an earlier call",
                   place(callback)));
}

// After DamagedMemory the run must not continue or save, so the process ends here.
void PluginInstance::refuse(Callback callback, const Error& why) const {
  if (dynamic_cast<const DamagedMemory*>(&why) != nullptr)
    end_process("error[B2042]: " + place(callback.name()) + ": " + why.what() +
                "\n  help: memory of others may be damaged, so the run ends at once; write no more than the tensor's "
                "bytes\n");
  fail(why.code(), place(callback.name()) + ": " + why.what());
}

void PluginInstance::poison(const char* callback) {
  refuse_end_of_thread(callback);
  poisoned_ = true;
  fail(Code::kUnknown, fmt::format("{}: [B2041] it let an exception escape, and is not called any more: {}",
                                   place(callback), current_exception_text()));
}

// pthread_exit unwinds the stack of the host's thread as an exception that must not be stopped. Without that thread the
// process would continue with nothing to do, or end with status 0.
void PluginInstance::refuse_end_of_thread(const char* callback) const {
  try {
    throw;
  } catch (const abi::__forced_unwind&) {
    end_process("error[B2043]: " + place(callback) +
                " ended its thread, which is the host's (pthread_exit)\n  help: return from the callback instead; ask "
                "the session to stop, or return an error\n");
  } catch (...) {
    return;
  }
}

constinit thread_local const ThreadOfCalls* ThreadOfCalls::innermost_ = nullptr;

void ThreadOfCalls::look() noexcept {
  for (std::uint32_t i = 0; i < n_; ++i)
    if (!mode_.is(calls_[i].mode)) calls_[i].instance->tell_of_mode(mode_.bits(), calls_[i].mode, calls_[i].callback);
  n_ = 0;
}

void ThreadOfCalls::report_to(CallMonitor& monitor) noexcept {
  monitor_ = &monitor;
  place_ = monitor.place.load(std::memory_order_relaxed);
  instance_before_ = monitor.instance.load(std::memory_order_relaxed);
  callback_before_ = monitor.callback.load(std::memory_order_relaxed);
  call_before_ = place_->call.load(std::memory_order_relaxed);
}

// The holder of the thread calls plugins itself.
void ThreadOfCalls::wait_until_let_go(CallMonitor& monitor) noexcept {
  if (monitor.holder.load() == std::this_thread::get_id()) return;
  monitor.held.wait(true, std::memory_order_acquire);
}

// It allocates nothing, since a thread that the copy lacks may hold the allocator's lock.
void ThreadOfCalls::end_copy() const noexcept {
  const Call& call = calls_[n_];
  char text[1024];
  std::snprintf(text, sizeof(text),
                "error[B2044]: %s in %s forked the process, and the copy came back: the copy (pid %d) ends here, the "
                "run continues without it\n  help: a copy must call exec or _exit inside the callback\n",
                call.instance->label().c_str(), call.callback, static_cast<int>(::getpid()));
  end_process(text);
}

namespace {

CurrentPlugin* find_current() noexcept {
  const auto call = PluginInstance::current();
  return call ? &call->instance : nullptr;
}
[[maybe_unused]] const bool current_is_found = [] {
  set_current_plugin(find_current);
  return true;
}();

}  // namespace

std::optional<PluginInstance::Current> PluginInstance::current() noexcept {
  const ThreadOfCalls* thread = ThreadOfCalls::innermost_;
  if (thread == nullptr) return std::nullopt;
  const ThreadOfCalls::Call& call = thread->calls_[thread->n_];
  return Current{*call.instance, call.callback, thread->monitor_->step.load(std::memory_order_relaxed)};
}

std::string calls_in_progress(const std::vector<const CallMonitor*>& monitors) {
  std::string text;
  const auto add = [&](const std::string& call) { text += (text.empty() ? "" : "; ") + call; };
  for (const CallMonitor* m : monitors) {
    const PluginInstance* instance = m->instance.load();
    const char* callback = m->callback.load();
    const std::int64_t step = m->step.load();
    if (instance != nullptr && callback != nullptr)
      add(instance->label() + " in " + callback + (step < 0 ? "" : fmt::format(" at step {}", step)));
    if (const PluginInstance* interrupted = m->interrupting.load(); interrupted != nullptr)
      add(interrupted->label() + " in interrupt, which must not wait");
  }
  return text;
}

PluginInstances::~PluginInstances() {
  while (!instances_.empty()) instances_.pop_back();
}

PluginInstance& PluginInstances::create(const RegisteredPlugin& plugin, const ResolvedPlugin& use,
                                        const HostServices& services, CallMonitor& monitor, std::uint32_t number) {
  instances_.push_back(std::make_unique<PluginInstance>(plugin, use, services, monitor, number));
  return *instances_.back();
}

PluginInstance& PluginInstances::add_hook(const std::string& name, const PluginInstance::MakeHook& make,
                                          const HostServices& services, CallMonitor& monitor) {
  instances_.push_back(std::make_unique<PluginInstance>(name, make, services, monitor));
  return *instances_.back();
}

}  // namespace belay::runtime
