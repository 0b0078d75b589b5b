// SPDX-License-Identifier: Apache-2.0
#include "runtime/monitored/session_hook.h"

#include <algorithm>

#include "belay/nearest.h"
#include "runtime/graph/graph_service.h"
#include "runtime/session/session_service.h"

namespace belay::runtime {

bool is_preemption(Code code) noexcept { return code == Code::kAborted || code == Code::kUnavailable; }
bool is_end_of_input(Code code) noexcept { return code == Code::kOutOfRange || code == Code::kStop; }

void refuse_end_of_input(const Error& error, const char* advice) {
  if (!is_end_of_input(error.code())) return;
  fail(Code::kFailedPrecondition,
       std::string(error.what()) + " (" + code_name(error.code()) + " does not end a run from here" + advice + ")");
}

namespace {

// Behind belay_state: one hook's state, being written or read.
struct StateAccess {
  HookState state;
  std::vector<belay_str> texts;  // of the value that get gave last
  std::int64_t flag = 0;
};

StateAccess& from_handle(belay_state* s) { return *reinterpret_cast<StateAccess*>(s); }
belay_state* to_handle(StateAccess* s) { return reinterpret_cast<belay_state*>(s); }

using detail::guard;
using detail::view;

std::int32_t put(belay_state* state, belay_str key, const belay_value* value, belay_status* status) {
  return guard(status, [&] {
    if (value == nullptr || (value->data == nullptr && value->count != 0) ||
        ((value->type & BELAY_VALUE_LIST) == 0 && value->count != 1))
      fail(Code::kInvalidArgument, "a hook's state takes one value, or a list, that is there");
    const auto n = static_cast<std::size_t>(value->count);
    const auto* ints = static_cast<const std::int64_t*>(value->data);
    const auto* floats = static_cast<const double*>(value->data);
    const auto* texts = static_cast<const belay_str*>(value->data);
    StateValue v;
    switch (value->type) {
      case BELAY_VALUE_BOOL: v = ints[0] != 0; break;
      case BELAY_VALUE_INT: v = ints[0]; break;
      case BELAY_VALUE_FLOAT: v = floats[0]; break;
      case BELAY_VALUE_TEXT: v = std::string(view(texts[0])); break;
      case BELAY_VALUE_INT | BELAY_VALUE_LIST: v = std::vector<std::int64_t>(ints, ints + n); break;
      case BELAY_VALUE_FLOAT | BELAY_VALUE_LIST: v = std::vector<double>(floats, floats + n); break;
      case BELAY_VALUE_TEXT | BELAY_VALUE_LIST: {
        std::vector<std::string> list;
        for (std::size_t i = 0; i < n; ++i) list.emplace_back(view(texts[i]));
        v = std::move(list);
        break;
      }
      default: fail(Code::kInvalidArgument, "a hook's state cannot hold values of type " + std::to_string(value->type));
    }
    from_handle(state).state.insert_or_assign(std::string(view(key)), std::move(v));
  });
}

std::int32_t get(belay_state* state, belay_str key, belay_value* value, belay_status* status) {
  return guard(status, [&] {
    StateAccess& access = from_handle(state);
    const auto it = access.state.find(view(key));
    if (it == access.state.end()) fail(Code::kNotFound, "the stored state has no '" + std::string(view(key)) + "'");
    const StateValue& v = it->second;
    if (const auto* b = std::get_if<bool>(&v)) {
      access.flag = *b ? 1 : 0;
      *value = {BELAY_VALUE_BOOL, 0, 1, &access.flag};
    } else if (const auto* i = std::get_if<std::int64_t>(&v)) {
      *value = {BELAY_VALUE_INT, 0, 1, i};
    } else if (const auto* d = std::get_if<double>(&v)) {
      *value = {BELAY_VALUE_FLOAT, 0, 1, d};
    } else if (const auto* s = std::get_if<std::string>(&v)) {
      access.texts = {detail::str(*s)};
      *value = {BELAY_VALUE_TEXT, 0, 1, access.texts.data()};
    } else if (const auto* ints = std::get_if<std::vector<std::int64_t>>(&v)) {
      *value = {BELAY_VALUE_INT | BELAY_VALUE_LIST, 0, ints->size(), ints->data()};
    } else if (const auto* floats = std::get_if<std::vector<double>>(&v)) {
      *value = {BELAY_VALUE_FLOAT | BELAY_VALUE_LIST, 0, floats->size(), floats->data()};
    } else {
      access.texts.clear();
      for (const std::string& t : std::get<std::vector<std::string>>(v)) access.texts.push_back(detail::str(t));
      *value = {BELAY_VALUE_TEXT | BELAY_VALUE_LIST, 0, access.texts.size(), access.texts.data()};
    }
  });
}

constexpr belay_state_service kStateService{sizeof(belay_state_service), 0, put, get};

}  // namespace

const belay_state_service* state_service() noexcept { return &kStateService; }

SessionHook::SessionHook(PluginInstance& instance, Logger& log, OnHookError on_error)
    : instance_(&instance), log_(&log), on_error_(on_error) {
  const belay_hook_api none = detail::adopt<detail::Absent::kSkip>(static_cast<const belay_hook_api*>(nullptr));
  has_before_run_ = instance.table<belay_hook_api>().before_run != none.before_run;
  has_after_run_ = instance.table<belay_hook_api>().after_run != none.after_run;
}

void SessionHook::fail_or_disable(const Error& error) {
  const bool steers = is_preemption(error.code()) || is_end_of_input(error.code()) || error.code() == Code::kDiverged ||
                      error.code() == Code::kSkip;
  if (on_error_ == OnHookError::kStop || steers) throw Error(error);
  disabled_ = true;
  log_->error(name(), std::string(error.what()) + "; on_error = \"disable\": it is left out from here on");
}

void SessionHook::refuse(Callback callback, const Error& error) {
  try {
    instance_->refuse(callback, error);
  } catch (const Error& named) {
    fail_or_disable(named);
  }
}

void HookSet::add(const SessionHook& hook) {
  if (std::any_of(hooks_.begin(), hooks_.end(), [&](const SessionHook& h) { return h.is(hook); }))
    fail(Code::kInvalidArgument,
         hook.label() + " is given twice: make a second instance of it, with a name of its own");
  hooks_.push_back(hook);
}

HookChoice HookSet::only(const std::vector<std::string>& names) const {
  HookChoice choice;
  for (const std::string& name : names) {
    const auto it = std::find_if(hooks_.begin(), hooks_.end(), [&](const SessionHook& h) { return h.name() == name; });
    if (it == hooks_.end()) {
      std::vector<std::string> known;
      for (const SessionHook& h : hooks_) known.push_back(h.name());
      fail(Code::kNotFound, "the session has no hook '" + name + "'" + did_you_mean(name, known));
    }
    choice.chosen_.resize(hooks_.size());
    choice.chosen_[static_cast<std::size_t>(it - hooks_.begin())] = true;
  }
  return choice;
}

void HookSet::begin(NodeGraph& graph) {
  for (SessionHook& h : hooks_) h.call("begin", &belay_hook_api::begin, runtime::to_handle(&graph));
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
      // It was told; what it says to that cannot change how the run ends.
    }
  }
}

void HookSet::before_save(DirectSession& session, std::int64_t step) {
  for (SessionHook& h : hooks_) h.call("before_save", &belay_hook_api::before_save, runtime::to_handle(&session), step);
}

std::string HookSet::after_save(DirectSession& session, std::int64_t step, const std::string& path) {
  std::string who;
  for (SessionHook& h : hooks_) {
    auto saved = detail::sized<belay_saved>();
    saved.step = step;
    saved.path = detail::str(path);
    ThreadOfCalls thread;
    h.call_in_step(
        thread, "after_save", &belay_hook_api::after_save, [&] { detail::check_sized(saved); },
        runtime::to_handle(&session), &saved);
    if (saved.stop != 0 && who.empty()) who = h.name();
  }
  return who;
}

std::map<std::string, HookState> HookSet::save_states() {
  std::map<std::string, HookState> states;
  for (SessionHook& h : hooks_) {
    StateAccess access;
    h.call("save_state", &belay_hook_api::save_state, to_handle(&access));
    if (!access.state.empty()) states[h.name()] = std::move(access.state);
  }
  return states;
}

void HookSet::load_states(const std::map<std::string, HookState>& states, Logger& log) {
  for (SessionHook& h : hooks_) {
    StateAccess access;
    const auto it = states.find(h.name());
    if (it != states.end()) access.state = it->second;
    h.call("load_state", &belay_hook_api::load_state, to_handle(&access));
  }
  for (const auto& [name, state] : states) {
    bool known = false;
    for (const SessionHook& h : hooks_) known = known || h.name() == name;
    if (!known)
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
