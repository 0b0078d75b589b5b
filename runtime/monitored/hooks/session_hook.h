// SPDX-License-Identifier: Apache-2.0
// The hooks of a session, in calling order.
//
// A failed hook stops the run. With on_error = "disable" it is left out from then on, and the run continues. The end of
// the run reports that. Some codes steer the session: ABORTED and UNAVAILABLE: recover; STOP: end; DIVERGED; SKIP: no
// checkpoint. They always pass, from the callbacks that may return them (the table in abi.h). [session]
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/checkpoint/format/content.h"
#include "runtime/loader/instance/instance.h"
#include "runtime/manifest/manifest.h"
#include "runtime/session/direct_session.h"

namespace belay::runtime {

bool is_preemption(Code code) noexcept;    // ABORTED, UNAVAILABLE: the session recovers
bool is_end_of_input(Code code) noexcept;  // OUT_OF_RANGE, STOP: the session ends without error

// For code that is no run: an operation while a session is made, or a thread that a recovery joins. An end of input,
// given or thrown by f, becomes FAILED_PRECONDITION. Otherwise it would end the training as if its own input had ended.
// Other errors stay the same. Results of a plugin's callback were checked before.
void refuse_end_of_input(const Error& error);
template <class F>
auto without_end_of_input(F&& f) {
  try {
    return f();
  } catch (const Error& e) {
    refuse_end_of_input(e);
    throw;
  }
}

class SessionHook {
 public:
  // It borrows the instance.
  SessionHook(PluginInstance& instance, Logger& log, OnHookError on_error = OnHookError::kStop);

  const std::string& name() const { return instance_->name(); }
  const std::string& label() const { return instance_->label(); }
  const std::string& version() const { return instance_->plugin().version; }  // empty: the program's own hook
  bool disabled() const noexcept { return disabled_; }
  const PluginInstance& instance() const noexcept { return *instance_; }
  bool is(const PluginInstance& instance) const noexcept { return instance_ == &instance; }

  // Calls a slot unless the hook is disabled. False: it is disabled, or this call disabled it.
  template <class... P, class... A>
  bool call(Callback callback, std::int32_t (*belay_hook_api::*slot)(void*, P...), A... args) {
    ThreadOfCalls thread;
    return call_in_step(
        thread, callback, slot, [] {}, args...);
  }
  // Does the same for the calls of each step. take() reads the hook's result (PluginInstance::call_in_step).
  template <class... P, class Take, class... A>
  bool call_in_step(ThreadOfCalls& thread, Callback callback, std::int32_t (*belay_hook_api::*slot)(void*, P...),
                    const Take& take, A... args) {
    if (disabled_) return false;
    try {
      instance_->call_in_step(thread, callback, slot, take, args...);
      return true;
    } catch (const Error& e) {
      fail_or_disable(e);
      return false;
    }
  }
  // From now on a before_run with feeds fails, with their names and this advice.
  void refuse_feeds(std::string advice) { feeds_refused_ = std::move(advice); }
  const std::string& feeds_refused() const noexcept { return feeds_refused_; }  // empty: it may feed
  // Whether the hook has the slot. A missing one is not called.
  bool has_before_run() const noexcept { return has_before_run_; }
  bool has_after_run() const noexcept { return has_after_run_; }

 private:
  void fail_or_disable(const Error& error);

  PluginInstance* instance_;
  Logger* log_;
  OnHookError on_error_;
  bool disabled_ = false;
  bool has_before_run_ = true;
  bool has_after_run_ = true;
  std::string feeds_refused_;
};

// The hooks of a run. HookSet::only makes a choice by names once, and its use costs no look-up.
class HookChoice {
 public:
  // No hooks: only the run's fetches happen. Such a run continues after a hook's stop request, and no checkpoint is
  // written after it.
  static HookChoice none() { return HookChoice(); }
  bool calls(std::size_t i) const noexcept { return i < chosen_.size() && chosen_[i]; }
  bool empty() const noexcept { return chosen_.empty(); }

 private:
  friend class HookSet;
  std::vector<bool> chosen_;  // by the hook's place; empty: none
};

class HookSet {
 public:
  // INVALID_ARGUMENT: the instance is in the set already. Its two calls could not be distinguished.
  void add(const SessionHook& hook);
  std::vector<SessionHook>& all() noexcept { return hooks_; }
  std::size_t size() const noexcept { return hooks_.size(); }
  bool has(const PluginInstance& instance) const noexcept;
  // Chooses the hooks of these instance names. NOT_FOUND suggests the nearest name.
  HookChoice only(const std::vector<std::string>& names) const;

  void begin(NodeGraph& graph);
  void after_create_session(DirectSession& session);
  void end(DirectSession& session);
  // Calls every hook, whatever the others return; once per session.
  void on_error(const Error& error) noexcept;

  void before_save(DirectSession& session, std::int64_t step);
  // Returns the name of the first hook with a request to stop. Empty: none does.
  std::string after_save(DirectSession& session, std::int64_t step, const std::string& path);
  // Returns the states by instance name, without hooks that have none. They are valid until the next call, which uses
  // the tensors' memory again unless a copy of this holds it. `busy`: a hook that is being called, and so keeps the
  // state of the last save.
  const std::map<std::string, HookState>& save_states(const PluginInstance* busy = nullptr);
  // Sets a function that adds states of others to those of save_states. Null: there is none.
  void add_states_by(std::function<void(std::map<std::string, HookState>&)> add) { add_ = std::move(add); }
  // Calls load_state of each hook with its state. A stored state without a hook is a warning.
  void load_states(const std::map<std::string, HookState>& states, Logger& log);

  // Labels of the hooks left out by on_error = "disable".
  std::vector<std::string> disabled() const;

 private:
  std::vector<SessionHook> hooks_;
  std::set<const PluginInstance*> instances_;  // of the hooks
  std::map<std::string, HookState> states_;    // of the last save
  std::function<void(std::map<std::string, HookState>&)> add_;
};

}  // namespace belay::runtime
