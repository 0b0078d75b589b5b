// SPDX-License-Identifier: Apache-2.0
// The hooks of a session, in calling order.
//
// A hook that fails stops the run, or, with on_error = "disable", is left out from then on: the run goes on without it,
// and the end of the run says so. The codes by which a hook steers the session (ABORTED and UNAVAILABLE: recover;
// STOP: end; DIVERGED; SKIP: no checkpoint) always go through, from those callbacks that may (the table in abi.h).
// [session]
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/checkpoint/content.h"
#include "runtime/loader/instance.h"
#include "runtime/manifest/manifest.h"
#include "runtime/session/direct_session.h"

namespace belay::runtime {

bool is_preemption(Code code) noexcept;    // ABORTED, UNAVAILABLE: the session recovers
bool is_end_of_input(Code code) noexcept;  // OUT_OF_RANGE, STOP: the session ends without error

// For what is no run (an operation while a session is made, a thread that a recovery joins): an end of input, in it or
// thrown by f, is FAILED_PRECONDITION, so that it does not end the training as if its own input had ended. Other errors
// are left alone. What a plugin's callback returns is refused there already.
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
  // The instance is borrowed.
  SessionHook(PluginInstance& instance, Logger& log, OnHookError on_error = OnHookError::kStop);

  const std::string& name() const { return instance_->name(); }
  const std::string& label() const { return instance_->label(); }
  const std::string& version() const { return instance_->plugin().version; }  // empty: it is the program's own
  bool disabled() const noexcept { return disabled_; }
  const PluginInstance& instance() const noexcept { return *instance_; }
  bool is(const PluginInstance& instance) const noexcept { return instance_ == &instance; }

  // Calls a slot unless the hook is disabled. False: it is, or became so by this call.
  template <class... P, class... A>
  bool call(Callback callback, std::int32_t (*belay_hook_api::*slot)(void*, P...), A... args) {
    ThreadOfCalls thread;
    return call_in_step(
        thread, callback, slot, [] {}, args...);
  }
  // The same for what each step calls; take() reads what the hook returned (PluginInstance::call_in_step).
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
  // From now on a before_run that returns feeds fails, with their names and this advice.
  void refuse_feeds(std::string advice) { feeds_refused_ = std::move(advice); }
  const std::string& feeds_refused() const noexcept { return feeds_refused_; }  // empty: it may feed
  // Which slots the hook has: those without are not worth a call.
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

// Which hooks a run calls. HookSet::only makes one by names, once; asking it costs no look-up.
class HookChoice {
 public:
  // None: what the run fetches is all that happens. Such a run goes on after a hook's stop request, and no checkpoint
  // is written behind it.
  static HookChoice none() { return HookChoice(); }
  bool calls(std::size_t i) const noexcept { return i < chosen_.size() && chosen_[i]; }
  bool empty() const noexcept { return chosen_.empty(); }

 private:
  friend class HookSet;
  std::vector<bool> chosen_;  // by the hook's place; empty: none
};

class HookSet {
 public:
  // INVALID_ARGUMENT for an instance that is in the set already: it could not tell its two calls apart.
  void add(const SessionHook& hook);
  std::vector<SessionHook>& all() noexcept { return hooks_; }
  std::size_t size() const noexcept { return hooks_.size(); }
  bool has(const PluginInstance& instance) const noexcept;
  // The hooks of these instance names; NOT_FOUND suggests the nearest.
  HookChoice only(const std::vector<std::string>& names) const;

  void begin(NodeGraph& graph);
  void after_create_session(DirectSession& session);
  void end(DirectSession& session);
  // Calls every hook, whatever they answer; once per session.
  void on_error(const Error& error) noexcept;

  void before_save(DirectSession& session, std::int64_t step);
  // The name of the first hook that asks to stop; empty: none.
  std::string after_save(DirectSession& session, std::int64_t step, const std::string& path);
  // By instance name; hooks without state are left out. Valid until the next call, which uses the memory of the tensors
  // again unless a copy of this holds it.
  // `busy`: a hook that is being called, and so keeps the state of the last save.
  const std::map<std::string, HookState>& save_states(const PluginInstance* busy = nullptr);
  // What adds states of others to those that save_states returns; null: nothing does.
  void add_states_by(std::function<void(std::map<std::string, HookState>&)> add) { add_ = std::move(add); }
  // Calls load_state of each hook with its state; a stored state without a hook is a warning.
  void load_states(const std::map<std::string, HookState>& states, Logger& log);

  // Labels of those that on_error = "disable" took out.
  std::vector<std::string> disabled() const;

 private:
  std::vector<SessionHook> hooks_;
  std::set<const PluginInstance*> instances_;  // of the hooks
  std::map<std::string, HookState> states_;    // of the last save
  std::function<void(std::map<std::string, HookState>&)> add_;
};

}  // namespace belay::runtime
