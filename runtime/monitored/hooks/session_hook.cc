// SPDX-License-Identifier: Apache-2.0
#include "runtime/monitored/hooks/session_hook.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "belay/nearest.h"
#include "runtime/graph/callback_scopes.h"
#include "runtime/graph/graph_service.h"
#include "runtime/monitored/hooks/state_service.h"
#include "runtime/session/session_service.h"

namespace belay::runtime {

bool is_preemption(Code code) noexcept { return code == Code::kAborted || code == Code::kUnavailable; }
bool is_end_of_input(Code code) noexcept { return code == Code::kOutOfRange || code == Code::kStop; }

void refuse_end_of_input(const Error& error) {
  if (!is_end_of_input(error.code())) return;
  fail(Code::kFailedPrecondition,
       std::string(error.what()) + " (" + code_name(error.code()) + " ends no run from here)");
}

SessionHook::SessionHook(PluginInstance& instance, Logger& log, OnHookError on_error)
    : instance_(&instance), log_(&log), on_error_(on_error) {
  const belay_hook_api none = detail::adopt<detail::Absent::kSkip>(static_cast<const belay_hook_api*>(nullptr));
  has_before_run_ = instance.table<belay_hook_api>().before_run != none.before_run;
  has_after_run_ = instance.table<belay_hook_api>().after_run != none.after_run;
}

void SessionHook::fail_or_disable(const Error& error) {
  const bool steers = is_preemption(error.code()) || error.code() == Code::kStop || error.code() == Code::kDiverged ||
                      error.code() == Code::kSkip;
  if (on_error_ == OnHookError::kStop || steers) throw Error(error);
  disabled_ = true;
  log_->error(name(), fmt::format("[B2047] {}; on_error = \"disable\": it is left out from here on", error.what()));
}

void HookSet::add(const SessionHook& hook) {
  if (!instances_.insert(&hook.instance()).second)
    fail(Code::kInvalidArgument,
         fmt::format("[B5047] {} is given twice: make a second instance of it, with another name", hook.label()));
  hooks_.push_back(hook);
}

HookChoice HookSet::only(const std::vector<std::string>& names) const {
  HookChoice choice;
  for (const std::string& name : names) {
    const auto it = std::find_if(hooks_.begin(), hooks_.end(), [&](const SessionHook& h) { return h.name() == name; });
    if (it == hooks_.end()) {
      std::vector<std::string> known;
      for (const SessionHook& h : hooks_) known.push_back(h.name());
      fail(Code::kNotFound, "[B5074] the session has no hook '" + name + "'" + did_you_mean(name, known));
    }
    choice.chosen_.resize(hooks_.size());
    choice.chosen_[static_cast<std::size_t>(it - hooks_.begin())] = true;
  }
  return choice;
}

void HookSet::begin(NodeGraph& graph) {
  for (SessionHook& h : hooks_) {
    const CallbackScopes scopes(graph);
    ThreadOfCalls thread;
    h.call_in_step(
        thread, "begin", &belay_hook_api::begin, [&] { scopes.check(); }, runtime::to_handle(&graph));
  }
}

void HookSet::after_create_session(DirectSession& session) {
  for (SessionHook& h : hooks_)
    h.call("after_create_session", &belay_hook_api::after_create_session, runtime::to_handle(&session));
}

void HookSet::end(DirectSession& session) {
  for (SessionHook& h : hooks_) h.call("end", &belay_hook_api::end, runtime::to_handle(&session));
}

void HookSet::on_error(const Error& error) noexcept {
  for (SessionHook& h : hooks_) {
    try {
      h.call("on_error", &belay_hook_api::on_error, static_cast<std::int32_t>(error.code()),
             detail::str(error.message()));
    } catch (...) {
      // An error of on_error cannot change how the run ends.
    }
  }
}

void HookSet::before_save(DirectSession& session, std::int64_t step) {
  for (SessionHook& h : hooks_) h.call("before_save", &belay_hook_api::before_save, runtime::to_handle(&session), step);
}

namespace {

void check_stop(const belay_saved& saved) {
  if (saved.stop != 0 && saved.stop != 1)
    fail(Code::kInvalidArgument, fmt::format("[B5082] it returned stop = {}; 1 asks the session to stop", saved.stop));
}

}  // namespace

std::string HookSet::after_save(DirectSession& session, std::int64_t step, const std::string& path) {
  std::string who;
  for (SessionHook& h : hooks_) {
    auto saved = detail::sized<belay_saved>();
    saved.step = step;
    saved.path = detail::str(path);
    ThreadOfCalls thread;
    h.call_in_step(
        thread, "after_save", &belay_hook_api::after_save, [&] { check_stop(saved); }, runtime::to_handle(&session),
        &saved);
    if (saved.stop == 1 && who.empty()) who = h.name();
  }
  return who;
}

bool HookSet::has(const PluginInstance& instance) const noexcept { return instances_.contains(&instance); }

const std::map<std::string, HookState>& HookSet::save_states(const PluginInstance* busy) {
  std::map<std::string, HookState> before = std::move(states_);
  states_.clear();
  StateCost total;
  for (SessionHook& h : hooks_) {
    HookState& last = before[h.name()];
    if (busy != nullptr && h.is(*busy)) {
      if (!last.entries.empty()) states_[h.name()] = std::move(last);
      continue;
    }
    HookStateAccess access(std::move(last), total);
    ThreadOfCalls thread;
    const bool saved = h.call_in_step(
        thread, "save_state", &belay_hook_api::save_state, [&] { access.check_guards(); }, access.handle());
    if (!saved) continue;
    HookState state = access.take();
    if (state.entries.empty()) continue;
    state.written_by = h.version();
    states_[h.name()] = std::move(state);
  }
  if (add_) add_(states_);
  return states_;
}

void HookSet::load_states(const std::map<std::string, HookState>& states, Logger& log) {
  static const HookState kNone;
  std::set<std::string_view> known;
  for (SessionHook& h : hooks_) {
    known.insert(h.name());
    const auto it = states.find(h.name());
    HookStateAccess access(it == states.end() ? kNone : it->second);
    h.call("load_state", &belay_hook_api::load_state, access.handle());
  }
  for (const auto& [name, state] : states) {
    if (!known.contains(name))
      log.warning("", "the checkpoint holds state of hook '" + name +
                          "', which this run has not got; it is not in the checkpoints that follow");
  }
}

std::vector<std::string> HookSet::disabled() const {
  std::vector<std::string> out;
  for (const SessionHook& h : hooks_)
    if (h.disabled()) out.push_back(h.label());
  return out;
}

}  // namespace belay::runtime
