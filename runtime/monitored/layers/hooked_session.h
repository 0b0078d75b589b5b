// SPDX-License-Identifier: Apache-2.0
// Calls hooks around every run. It does not call begin, after_create_session or end.
//
//   run: refuse if a hook has asked to stop; before_run of each hook, in order; one raw run of the caller's fetches and
//   all hooks'; after_run of each hook, in order; if a hook had the run traced, the trace into the event file; the
//   checkpoint that was asked for; latch a stop request; give the caller's results.
//
// Runs do not overlap and do not nest: a hook's own runs use the session of its context.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/monitored/hooks/session_hook.h"
#include "runtime/monitored/layers/session_layer.h"
#include "runtime/session/run_context.h"

namespace belay::runtime {

class EventWriter;
class RunSaver;
class RunTrace;
class StopRefusal;

class HookedSession final : public SessionLayer {
 public:
  // Borrows the hooks, saver, log, events and trace. All but the hooks may be null.
  HookedSession(std::shared_ptr<DirectSession> session, HookSet& hooks, RunSaver* saver, CallMonitor* monitor,
                Logger* log = nullptr, EventWriter* events = nullptr, RunTrace* trace = nullptr);

  Run run(const RunCall& call) override;
  std::any run_step_fn(const StepFn& step) override;
  // Names the hook that asked to stop, and its reason. It is empty until one has.
  const std::string& stop_reason() const noexcept { return stop_reason_; }
  // Returns true if every hook saw the last step. It is false after an error in an after_run.
  bool whole() const noexcept { return whole_; }
  // Handles the stop request of a hook outside of a run: in after_save.
  void request_stop(const std::string& hook, const std::string& reason);
  // Sets the object that refuses the hooks' requests. Null: nothing does.
  void set_refusal(std::shared_ptr<StopRefusal> refusal) { refusal_ = std::move(refusal); }

 protected:
  bool check_stop() override { return should_stop_; }

 private:
  // The requests of one hook, kept from run to run.
  struct HookRequest {
    std::vector<std::unique_ptr<FetchSet>> sets;  // its fetch lists, the last used one first
    FetchSet* fetches = nullptr;                  // of this run; null: none
    belay_run_args args = detail::sized<belay_run_args>();
    std::vector<belay_tensor> values;
    bool asked = false;
  };

  Run run_hooked(const RunCall& call);
  void check_may_run(const RunCall& call) const;
  void before_run(const RunCall& call, RunContextState& context, ThreadOfCalls& thread);
  void merge_feeds(const RunCall& call);
  void merge_options(const RunCall& call);
  Run run_raw(const RunCall& call, RunContextState& context);
  Run run_step(const RunRequest& request);
  void describe_run(const RunCall& call, const Run& run);
  void after_run(RunContextState& context, const Run& run, ThreadOfCalls& thread);
  // Checks the result of before_run, and finds its fetch set.
  void take(HookRequest& request, const SessionHook& hook);
  FetchSet* fetch_set(HookRequest& request, const SessionHook& hook);
  void say_what_is_own(const HookRequest& request, const SessionHook& hook);
  // Sets the values of the hook's own fetches, valid until its next run.
  static void fetch(HookRequest& request, const Run& run, belay_run_values& values);
  // Called in the hook's after_run. It looks next to the values only.
  void check_guards(const HookRequest& request) const;
  // Looks at all that surrounds the values of one hook after the last after_run; each run takes the next hook.
  void check_whole_guards() const;
  [[noreturn]] void refuse_readers(std::string name, const belay_tensor& value) const;
  std::string value_name(const HookRequest& request, std::size_t v) const;
  std::vector<std::size_t> readers(const void* value) const;
  void latch_stop(const std::string& reason);
  void say_what_is_not_finite(const Run& run);
  void write_trace();

  std::shared_ptr<DirectSession> session_;
  HookSet& hooks_;
  RunSaver* saver_;
  CallMonitor* monitor_;
  Logger* log_;  // null after it was logged
  EventWriter* events_;
  RunTrace* trace_;
  std::shared_ptr<StopRefusal> refusal_;
  std::vector<HookRequest> requests_;
  std::vector<FetchSet*> hook_fetches_;
  std::optional<std::vector<bool>> own_;  // own_values.h; not set: no hook has fetched anything yet
  std::vector<belay_feed> feeds_;
  CallerOptions options_;  // of this run: the options of the caller and of the hooks together
  belay_run_options raw_options_ = detail::sized<belay_run_options>();  // the same, as hooks see it
  FetchSet watched_;                                                    // of this run: its debug_tensor_watches
  RunMetadata metadata_;                                                // of this run
  std::int64_t runs_ = 0;
  bool running_ = false;
  bool hook_traces_ = false;  // this run
  bool should_stop_ = false;
  bool whole_ = true;
  std::string stop_reason_;
};

}  // namespace belay::runtime
