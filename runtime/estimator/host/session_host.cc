// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/host/session_host.h"

#include <fmt/core.h>

#include <algorithm>

#include "runtime/cluster/ranks_service.h"
#include "runtime/graph/graph_service.h"
#include "runtime/monitored/services/host_services.h"
#include "runtime/platform/files/directories_in.h"
#include "runtime/session/session_service.h"

namespace belay::runtime {

SessionHost::SessionHost(RunHost& run, Options options)
    : run_(run),
      options_(std::move(options)),
      services_(run.log(), run.clock(), run.services().run_directory(), run.services().seed()) {
  add_session_services(services_);
  services_.add("cluster", ranks_service());
  services_.set_mode(static_cast<std::int32_t>(options_.mode));
  services_.set_attempt(&run_.attempt());
  services_.set_place(run_.options().place);
  services_.set_context(&events_);
  run_.set_contexts(services_, options_.saves);
  if (options_.saves) run_.set_events(&events_);
}

SessionHost::~SessionHost() {
  if (options_.saves) run_.set_events(nullptr);
}

// ---- events ----

void SessionHost::open_events() {
  if (run_.events_dir().empty()) return;
  const double flush_secs = run_.options().session.events_flush_secs;
  events_ = RunEvents();  // it writes into the directory replaced below
  const bool in_run = run_.has_directory() && run_.events_dir() == run_.options().dir;
  if (in_run && options_.events_folder.empty()) {
    events_ = RunEvents(run_.directory(), run_.clock(), run_.log(), flush_secs);
    return;
  }
  events_directory_ = in_run ? make_directories_in(run_.directory(), options_.events_folder)
                             : make_directories_in(run_.files(), run_.events_dir(), options_.events_folder);
  events_ = RunEvents(*events_directory_, run_.clock(), run_.log(), flush_secs);
}

void SessionHost::close_events(std::int64_t step) {
  if (events() == nullptr) return;
  events()->add_session_log(EventWriter::kStop, std::max<std::int64_t>(step, 0));
  events()->flush();
}

// ---- plugins ----

PluginInstance& SessionHost::create(const FoundUse& use) {
  return instances_.create(use.plugin, use.use, services_, run_.monitor(), run_.number_of(use.label()));
}

PluginInstance& SessionHost::add(PluginInstance& hook, OnHookError on_error) {
  hooks_.add(SessionHook(hook, run_.log(), on_error));
  return hook;
}

PluginInstance& SessionHost::add_hook(const FoundUse& hook) { return add(create(hook), hook.use.on_error); }

PluginInstance& SessionHost::add_hook(const std::string& name, const PluginInstance::MakeHook& make) {
  return add(instances_.add_hook(name, make, services_, run_.monitor()), OnHookError::kStop);
}

HookRanks& SessionHost::use_ranks(std::unique_ptr<HookRanks> ranks) {
  ranks_ = std::move(ranks);
  services_.set_context(ranks_.get());
  return *ranks_;
}

void SessionHost::add_init_fn(const FoundUse& init_fn) { init_fns_.push_back(&create(init_fn)); }

void SessionHost::call_init_fns(NodeGraph& graph, DirectSession& session) {
  for (PluginInstance* init_fn : init_fns_)
    init_fn->call("run", &belay_init_fn_api::run, to_handle(&graph), to_handle(&session));
}

void SessionHost::begin_hooks(NodeGraph& graph) {
  hooks_.begin(graph);
  begun_ = true;
}

// ---- the session ----

MonitoredSessionOptions SessionHost::session_options() {
  MonitoredSessionOptions options;
  options.settings = run_.options().session;
  options.recovers = options_.recovers;
  options.saver = options_.saves ? run_.saver().get() : nullptr;
  options.monitor = &run_.monitor();
  options.events = events();
  options.trace = run_.trace();
  options.begins_hooks = !begun_;
  if (options_.mode == Mode::kTrain) options.min_steps = run_.options().min_steps;
  options.on_recovery = [this](const Error& error, std::int64_t count) {
    run_.log().warning("", fmt::format("recovery {}: {}", count, error.what()));
    if (events() != nullptr)
      events()->add_scalar("recoveries", std::max<std::int64_t>(run_.monitor().step, 0), static_cast<double>(count));
  };
  return options;
}

std::unique_ptr<MonitoredSession> SessionHost::open(std::shared_ptr<SessionCreator> creator) {
  run_.set_contexts(services_, options_.saves);
  auto session = std::make_unique<MonitoredSession>(std::move(creator), run_.environment(), hooks_, session_options());
  begun_ = true;  // of a further session on that graph
  return session;
}

}  // namespace belay::runtime
