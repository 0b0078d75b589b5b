// SPDX-License-Identifier: Apache-2.0
// A plugin's instance, and the guarded way to call it.
//
//   PluginInstances instances;
//   PluginInstance& hook = instances.create(load_plugin(resolved, loader, registry), resolved, services, monitor);
//   hook.call("begin", &belay_hook_api::begin, graph);
//
// A program's hook, with any constructor, is also an instance:
//
//   PluginInstance& mine = instances.add_hook("ceiling", std::make_unique<LossCeiling>(5.0), services, monitor);
//
// A callback's code and message become an Error that names the plugin and the line of the manifest: `hook "x" (x.so
// 1.2, train.toml:14) in begin: no node "loss"`. A plugin without the SDK's barrier may let an exception escape. It is
// caught here, and the instance is poisoned, since its state is not known. It is never called again, not even
// destroyed.
//
// A callback's changes to its thread are undone: the floating-point mode, with a warning the first time, and how OpenMP
// sizes its teams (ThreadOfCalls).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <variant>
#include <vector>

#include "belay/module.h"
#include "runtime/loader/instance/callback.h"
#include "runtime/loader/instance/host.h"
#include "runtime/loader/library/resolve.h"
#include "runtime/platform/memory/is_sized.h"
#include "runtime/platform/process/current_plugin.h"
#include "runtime/platform/process/process_copy.h"
#include "runtime/platform/threads/floating_point.h"
#include "runtime/platform/threads/thread_settings.h"

namespace belay::runtime {

class PluginInstance;

// The call as numbers, in memory that outlives the process. A run's attempt puts its mark there, which the next one
// reads (runtime/monitored/run/attempt_mark.h).
struct CallPlace {
  std::atomic<std::int64_t> step{-1};
  std::atomic<std::uint64_t> call{0};  // the instance's number * 256 + the callback's; 0: none is being called
};

// A returned call.
struct PastCall {
  std::atomic<const PluginInstance*> instance{nullptr};
  std::atomic<const char*> callback{nullptr};
  std::atomic<std::int64_t> step{-1};
};

// The current activity of plugins, for error messages and for the watchdog. The watchdog samples it from another
// thread. Each thread that calls plugins has one. The thread that runs the steps sets `step`.
struct CallMonitor {
  std::atomic<std::int64_t> step{-1};                    // -1: none yet
  std::atomic<const PluginInstance*> instance{nullptr};  // null: none is being called
  std::atomic<const char*> callback{nullptr};            // a literal: "after_run"
  // The instance whose interrupt another thread is calling; null: none.
  std::atomic<const PluginInstance*> interrupting{nullptr};
  CallPlace nowhere;
  std::atomic<CallPlace*> place{&nowhere};  // never null; changed while no plugin is being called
  std::atomic<bool> held{false};            // the thread returns from no callback (HeldCall, held_call.h)
  std::atomic<std::thread::id> holder{};    // the holding thread

  // The last calls, in a ring: a plugin may damage memory that crashes later. An instance is removed at its end.
  static constexpr std::uint32_t kPastCalls = 16;
  PastCall past[kPastCalls];
  std::atomic<std::uint32_t> n_past{0};  // number of all calls
  void note_past(const PluginInstance* called, const char* how) noexcept {
    const std::uint32_t n = n_past.load(std::memory_order_relaxed);
    PastCall& call = past[n % kPastCalls];
    call.instance.store(called, std::memory_order_relaxed);
    call.callback.store(how, std::memory_order_relaxed);
    call.step.store(step.load(std::memory_order_relaxed), std::memory_order_relaxed);
    n_past.store(n + 1, std::memory_order_relaxed);
  }
  void forget(const PluginInstance* ended) noexcept {
    for (PastCall& call : past)
      if (call.instance == ended) call.instance = nullptr;
  }
};

// Surrounds a thread's calls of plugins together: all those of a step, or a single one. It keeps the monitor up to
// date. Each call finds the floating-point mode and flags of its construction. After the last call, the sizing of
// OpenMP's teams is restored.
class ThreadOfCalls {
 public:
  ThreadOfCalls() noexcept : outer_(innermost_) {}
  ~ThreadOfCalls() { look(); }
  ThreadOfCalls(const ThreadOfCalls&) = delete;
  ThreadOfCalls& operator=(const ThreadOfCalls&) = delete;

  // Warns of calls that left another mode; it was restored at once. It checks all modes together, since a check at once
  // would make the processor wait (VectorMode). It does so at the end of a phase at the latest, while the monitor's
  // step is still theirs.
  void look() noexcept;

 private:
  friend class PluginInstance;
  friend class PartOfCall;

  static constexpr std::uint32_t kMostCalls = 8;
  struct Call {
    PluginInstance* instance;
    const char* callback;
    std::uint32_t mode;  // its mode at the end
  };

  class Scope {
   public:
    Scope(ThreadOfCalls& thread, PluginInstance& instance, Callback callback) noexcept : thread_(thread) {
      thread_.begin(instance, callback);
    }
    ~Scope() { thread_.end(); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    ThreadOfCalls& thread_;
  };

  void begin(PluginInstance& instance, Callback callback) noexcept;
  void put_mode_back() noexcept { mode_.put_back(calls_[n_].mode); }
  void end() noexcept;
  void report_to(CallMonitor& monitor) noexcept;
  // A copy of the process that the callback forked returned from it.
  [[noreturn]] void end_copy() const noexcept;
  static void wait_until_let_go(CallMonitor& monitor) noexcept;

  static thread_local constinit const ThreadOfCalls* innermost_;  // the calling one

  const ThreadSettings settings_;
  const VectorMode mode_;
  const ThreadOfCalls* const outer_;  // a callback may lead to another one's
  // The earlier values of the monitor.
  CallMonitor* monitor_ = nullptr;
  CallPlace* place_ = nullptr;
  const PluginInstance* instance_before_ = nullptr;
  const char* callback_before_ = nullptr;
  std::uint64_t call_before_ = 0;
  std::uint32_t n_ = 0;
  Call calls_[kMostCalls];  // the last n_, and the current one
};

// Parts of a callback that the host runs on other threads get the callback's name there. A copy of the process ends
// with its part, since it lacks the threads that it would wait for.
//
//   const auto call = PartOfCall::whole();                         // on the thread of the callback
//   parallel_for(..., [&](...) { const PartOfCall part(call); ... });
class PartOfCall {
 public:
  // Returns null if this thread is calling no plugin.
  static const ThreadOfCalls* whole() noexcept { return ThreadOfCalls::innermost_; }

  explicit PartOfCall(const ThreadOfCalls* whole) noexcept : whole_(whole), before_(ThreadOfCalls::innermost_) {
    ThreadOfCalls::innermost_ = whole;
  }
  ~PartOfCall() {
    if (is_process_copy() && whole_ != nullptr) whole_->end_copy();
    ThreadOfCalls::innermost_ = before_;
  }
  PartOfCall(const PartOfCall&) = delete;
  PartOfCall& operator=(const PartOfCall&) = delete;

 private:
  const ThreadOfCalls *const whole_, *const before_;
};

class PluginInstance final : public CurrentPlugin {
 public:
  // Calls the plugin's `create`. Throws Error with place, plugin and file; its code is the plugin's. Borrows services
  // and monitor. `number` is the instance's in an attempt's mark; 0: there is none.
  PluginInstance(const RegisteredPlugin& plugin, const ResolvedPlugin& use, const HostServices& services,
                 CallMonitor& monitor, std::uint32_t number = 0);
  // Makes a program's hook. `make` gets the instance's host and returns the (table, self) pair, which the instance
  // owns.
  using MakeHook = std::function<HookHandle(const belay_host_api*, belay_host*)>;
  PluginInstance(const std::string& name, const MakeHook& make, const HostServices& services, CallMonitor& monitor);
  ~PluginInstance() override;
  PluginInstance(const PluginInstance&) = delete;
  PluginInstance& operator=(const PluginInstance&) = delete;

  // Calls a slot of the instance's table with all arguments between `self` and `status`. It allocates nothing unless it
  // fails. Throws Error, also for a poisoned instance.
  template <class Api, class... P, class... A>
  void call(Callback callback, std::int32_t (*Api::*slot)(void*, P...), A... args) {
    call_and_take(
        callback, slot, [] {}, args...);
  }

  // Does the same with take(), which reads the callback's results: pointers, counts, numbers. It runs inside of the
  // call. So an error or a crash there counts as the callback's.
  template <class Api, class... P, class Take, class... A>
  void call_and_take(Callback callback, std::int32_t (*Api::*slot)(void*, P...), const Take& take, A... args) {
    ThreadOfCalls thread;
    call_in_step(thread, callback, slot, take, args...);
  }

  // Does the same for calls of each step. It is inlined into the loop over the hooks, where slot and callback are
  // constants.
  template <class Api, class... P, class Take, class... A>
  [[gnu::always_inline]] void call_in_step(ThreadOfCalls& thread, Callback callback,
                                           std::int32_t (*Api::*slot)(void*, P...), const Take& take, A... args) {
    if (poisoned()) fail_poisoned(callback.name());
    const ThreadOfCalls::Scope scope(thread, *this, callback);
    detail::Status status;
    std::int32_t code = BELAY_OK;
    try {
      code = (table<Api>().*slot)(self_, args..., status);
    } catch (...) {
      thread.put_mode_back();
      poison(callback.name());
    }
    thread.put_mode_back();
    if (code != BELAY_OK) fail_callback(callback.name(), code, status.message());
    try {
      check_all_filled<P...>(args..., nullptr);
      take();
    } catch (const Error& e) {
      refuse(callback, e);
    }
  }

  // Calls a slot that returns something to the plugin and cannot fail. An escaped exception is logged. A poisoned
  // instance is left alone, since its state is not known.
  template <class Api, class... P, class... A>
  void release(Callback callback, void (*Api::*slot)(void*, P...), A... args) noexcept {
    if (poisoned()) return;
    ThreadOfCalls thread;
    const ThreadOfCalls::Scope scope(thread, *this, callback);
    try {
      (table<Api>().*slot)(self_, args...);
    } catch (...) {
      log_escape(callback.name());
    }
    thread.put_mode_back();
  }

  // Makes a callback that waits in another thread return soon. The plugin must support it (BELAY_INTERRUPT_EXTENSION),
  // or ask its host whether it is to stop. It lasts until uninterrupted(). [any]
  void interrupt() noexcept;
  void uninterrupted() noexcept { host_.set_stopping(false); }
  // True while the plugin's interrupt runs, which must not wait. [any]
  bool interrupting() const noexcept { return monitor_.interrupting == this; }
  // Returns the plugin's table of this name; null: it has none.
  const void* extension(std::string_view name) const noexcept;

  // Log a line in the instance's name. [any]
  void warn(const std::string& text) const;
  void inform(const std::string& text) const;

  // Fails like the callback: its results are of no use.
  [[noreturn]] void refuse(Callback callback, const Error& why) const;

  // The current call of this thread, for handlers. None: it calls no plugin, or it is a plugin's thread.
  struct Current {
    PluginInstance& instance;
    const char* callback;
    std::int64_t step;  // -1: none yet
  };
  static std::optional<Current> current() noexcept;

  template <class Api>
  const Api& table() const {
    return std::get<Api>(plugin_.table);
  }
  void* self() const noexcept { return self_; }
  // Borrows the instance.
  template <class Api>
  Handle<Api> handle() const {
    return Handle<Api>(&table<Api>(), self_, false);
  }

  const RegisteredPlugin& plugin() const noexcept { return plugin_; }
  const std::string& name() const noexcept { return host_.name(); }
  // Returns `hook "x" (x.so 1.2, train.toml:14)`.
  const std::string& label() const noexcept override { return label_; }
  std::int32_t call_join(const std::function<std::int32_t(belay_status*)>& join) override;
  bool poisoned() const noexcept { return poisoned_.load(std::memory_order_relaxed); }

 private:
  // Checks each argument of every callback. A sized struct of the plugin must keep its size, and this host must know
  // its flags.
  template <class P, class A>
  static void check_filled(const A& arg) {
    using Pointed = std::remove_pointer_t<P>;
    if constexpr (std::is_pointer_v<P> && !std::is_const_v<Pointed> && kIsSized<Pointed>)
      detail::check_sized(*static_cast<const Pointed*>(arg), kKnownFlags<Pointed>);
  }
  template <class... P, class... A>
  static void check_all_filled(const A&... args) {
    (check_filled<P>(args), ...);
  }
  template <class T>
  static constexpr std::uint32_t kKnownFlags = 0;

  void create(const ResolvedPlugin& use);
  void destroy() noexcept;
  std::string place(const char* callback) const;  // returns `hook "x" (x.so 1.2, train.toml:14) in after_run at step
                                                  // 17`
  [[noreturn]] void fail_callback(const char* callback, std::int32_t code, std::string_view text) const;
  [[noreturn]] void fail_poisoned(const char* callback) const;
  // Call these inside a catch block.
  [[noreturn]] void poison(const char* callback);
  void log_escape(const char* callback) const;
  // Call it inside a catch block, too. It ends the process if the callback called pthread_exit.
  void refuse_end_of_thread(const char* callback) const;
  friend class ThreadOfCalls;
  // Called the first time: the callback left the floating-point mode `after`, and it was restored.
  void tell_of_mode(std::uint32_t before, std::uint32_t after, const char* callback) const noexcept;

  const std::unique_ptr<RegisteredPlugin> own_plugin_;  // a program's hook
  const RegisteredPlugin& plugin_;
  InstanceHost host_;
  CallMonitor& monitor_;
  std::uint32_t number_ = 0;
  std::string label_;
  HookHandle own_hook_;
  void* self_ = nullptr;
  std::optional<belay_interrupt_api> interrupt_;
  std::atomic<bool> poisoned_{false};  // several threads call operations
  mutable std::atomic<bool> mode_told_{false};
};

// Returns the current calls of these monitors' threads, by label, callback and step, for messages; empty: none. [any]
std::string calls_in_progress(const std::vector<const CallMonitor*>& monitors);

inline void ThreadOfCalls::begin(PluginInstance& instance, Callback callback) noexcept {
  Call& call = calls_[n_];
  call.instance = &instance;
  call.callback = callback.name();
  if (is_process_copy()) end_copy();
  CallMonitor& monitor = instance.monitor_;
  if (&monitor != monitor_) [[unlikely]]
    report_to(monitor);
  CallPlace& place = *place_;
  monitor.callback.store(callback.name(), std::memory_order_relaxed);
  monitor.instance.store(&instance, std::memory_order_release);  // with all earlier work of the thread, for HeldCall
  place.step.store(monitor.step.load(std::memory_order_relaxed), std::memory_order_relaxed);
  place.call.store(instance.number_ * std::uint64_t{256} + callback.number(), std::memory_order_relaxed);
  innermost_ = this;
}

inline void ThreadOfCalls::end() noexcept {
  if (is_process_copy()) end_copy();
  CallMonitor& monitor = *monitor_;
  CallPlace& place = *place_;
  monitor.note_past(calls_[n_].instance, calls_[n_].callback);
  innermost_ = outer_;
  place.call.store(call_before_, std::memory_order_relaxed);
  monitor.instance.store(instance_before_, std::memory_order_relaxed);
  monitor.callback.store(callback_before_, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);  // HeldCall makes it a real fence
  if (monitor.held.load(std::memory_order_acquire)) [[unlikely]]
    wait_until_let_go(monitor);
  if (++n_ == kMostCalls) [[unlikely]]
    look();
}

// Flags of later hosts are refused with a separate message (plugin_op.cc).
template <>
inline constexpr std::uint32_t PluginInstance::kKnownFlags<belay_op_traits> =
    BELAY_OP_ELEMENTWISE | BELAY_OP_RANDOM | BELAY_OP_STATEFUL | BELAY_OP_BLOCKING | BELAY_OP_COLLECTIVE;

// All instances of a run, destroyed in reverse order, before main returns.
class PluginInstances {
 public:
  PluginInstances() = default;
  ~PluginInstances();
  PluginInstances(const PluginInstances&) = delete;
  PluginInstances& operator=(const PluginInstances&) = delete;

  PluginInstance& create(const RegisteredPlugin& plugin, const ResolvedPlugin& use, const HostServices& services,
                         CallMonitor& monitor, std::uint32_t number = 0);
  // Adds a program's hook. T derives from belay::Hook.
  template <class T>
  PluginInstance& add_hook(const std::string& name, std::unique_ptr<T> hook, const HostServices& services,
                           CallMonitor& monitor) {
    return add_hook(
        name, [&hook](const belay_host_api* api, belay_host* host) { return belay::hook(api, host, std::move(hook)); },
        services, monitor);
  }
  PluginInstance& add_hook(const std::string& name, const PluginInstance::MakeHook& make, const HostServices& services,
                           CallMonitor& monitor);

 private:
  std::vector<std::unique_ptr<PluginInstance>> instances_;
};

}  // namespace belay::runtime
