// SPDX-License-Identifier: Apache-2.0
#include "runtime/loader/host.h"

#include <cstdio>
#include <deque>
#include <mutex>
#include <thread>

#include "runtime/platform/text.h"

namespace belay::runtime {
namespace {

using detail::str;
using detail::view;

LogLevel level_of(std::int32_t level) noexcept {
  if (level >= BELAY_LOG_ERROR) return LogLevel::kError;
  if (level >= BELAY_LOG_WARNING) return LogLevel::kWarning;
  return level >= BELAY_LOG_INFO ? LogLevel::kInfo : LogLevel::kDebug;
}

// The memory of every belay_host that there ever was, and whose loggers exist.
struct Process {
  std::mutex mutex;
  std::deque<InstanceHost::Handle> handles;
  std::vector<const HostServices*> services;
};
Process& process() {
  static Process& all = *new Process;  // never destroyed: threads of plugins may outlive main
  return all;
}

InstanceHost::Handle& new_handle(const std::string& name) {
  Process& all = process();
  const std::lock_guard lock(all.mutex);
  InstanceHost::Handle& handle = all.handles.emplace_back();
  handle.name = name;
  return handle;
}

InstanceHost::Handle& handle_of(belay_host* host) noexcept { return *reinterpret_cast<InstanceHost::Handle*>(host); }

// Once for each instance. Its own run may be over, so another one's log has to do, or none.
void warn_of_late_call(InstanceHost::Handle& handle) {
  if (handle.warned.exchange(true)) return;
  const std::string text =
      "it calls its host after its destroy, from a thread that it left behind; such calls do nothing. The destructor has to "
      "join the plugin's threads";
  Process& all = process();
  const std::lock_guard lock(all.mutex);
  if (all.services.empty()) {
    std::fprintf(stderr, "belay: warning: %s: %s\n", escaped(handle.name).c_str(), text.c_str());
  } else {
    all.services.back()->logger().log(LogLevel::kWarning, handle.name, text);
  }
}

// Calls f with the instance, which does not end meanwhile; a call that comes too late returns 0. What f throws ends
// here, since nothing may pass into a plugin's frames: a log that fails must not end a run.
template <class F>
auto with(belay_host* host, F&& f) noexcept -> decltype(f(std::declval<InstanceHost&>())) {
  InstanceHost::Handle& handle = handle_of(host);
  handle.calls.fetch_add(1);
  struct Leave {
    std::atomic<std::uint32_t>& calls;
    ~Leave() { calls.fetch_sub(1); }
  } leave{handle.calls};
  try {
    if (InstanceHost* instance = handle.instance.load()) return f(*instance);
    warn_of_late_call(handle);
  } catch (...) {
  }
  return decltype(f(std::declval<InstanceHost&>()))();
}

void log(belay_host* host, std::int32_t level, belay_str text) {
  with(host, [&](InstanceHost& h) { h.services().logger().log(level_of(level), h.name(), view(text)); });
}
std::int32_t log_enabled(belay_host* host, std::int32_t level) {
  return with(host, [&](InstanceHost& h) { return h.services().logger().enabled(level_of(level)) ? 1 : 0; });
}
std::int64_t monotonic_ns(belay_host* host) {
  return with(host, [](InstanceHost& h) { return h.services().clock().monotonic_ns(); });
}
std::int64_t wall_ns(belay_host* host) {
  return with(host, [](InstanceHost& h) { return h.services().clock().wall_ns(); });
}
belay_str run_directory(belay_host* host) {
  return with(host, [](InstanceHost& h) { return str(h.services().run_directory()); });
}
belay_str instance_name(belay_host* host) {
  return with(host, [](InstanceHost& h) { return str(h.name()); });
}
std::uint64_t seed(belay_host* host) {
  return with(host, [](InstanceHost& h) { return h.services().seed(); });
}
std::int32_t interactive(belay_host* host) {
  return with(host, [](InstanceHost& h) { return h.services().logger().interactive() ? 1 : 0; });
}
void status_line(belay_host* host, belay_str text) {
  with(host, [&](InstanceHost& h) { h.services().logger().status_line(view(text)); });
}

std::int32_t mode(belay_host* host) {
  return with(host, [](InstanceHost& h) { return h.services().mode(); });
}
// One process, so far.
std::int32_t rank(belay_host*) { return 0; }
std::int32_t ranks(belay_host*) { return 1; }
std::int32_t is_chief(belay_host*) { return 1; }
// Of an instance that has ended nothing is wanted.
std::int32_t stopping(belay_host* host) {
  return handle_of(host).instance.load() == nullptr ||
         with(host, [](InstanceHost& h) { return h.stopping() ? 1 : 0; }) != 0;
}

constexpr belay_core_api kCore{sizeof(belay_core_api),
                               0,
                               &log,
                               &log_enabled,
                               &monotonic_ns,
                               &wall_ns,
                               &run_directory,
                               &instance_name,
                               &seed,
                               &interactive,
                               &status_line,
                               &mode,
                               &rank,
                               &ranks,
                               &is_chief,
                               &stopping};

const void* service(belay_host* host, belay_str name) {
  return with(host, [&](InstanceHost& h) { return h.services().find(view(name)); });
}

constexpr belay_host_api kHost{sizeof(belay_host_api), 0, &service};

}  // namespace

HostServices::HostServices(Logger& logger, Clock& clock, std::string run_directory, std::uint64_t seed)
    : logger_(logger), clock_(clock), run_directory_(std::move(run_directory)), seed_(seed) {
  add("core", &kCore);
  Process& all = process();
  const std::lock_guard lock(all.mutex);
  all.services.push_back(this);
}

HostServices::~HostServices() {
  Process& all = process();
  const std::lock_guard lock(all.mutex);
  std::erase(all.services, this);
}

void HostServices::add(std::string name, const void* table) {
  if (find(name) != nullptr) fail(Code::kAlreadyExists, "service \"" + name + "\" is added twice");
  tables_.emplace_back(std::move(name), table);
}

const void* HostServices::find(std::string_view name) const noexcept {
  for (const auto& [known, table] : tables_)
    if (known == name) return table;
  return nullptr;
}

void HostServices::set_context(const void* key, void* object) {
  for (Context& c : contexts_) {
    if (c.key != key) continue;
    c.object = object;
    return;
  }
  contexts_.push_back({key, object});
}

void HostServices::fail_no_context() {
  fail(Code::kFailedPrecondition, "this service works only while a session exists");
}

InstanceHost::InstanceHost(const HostServices& services, std::string instance_name)
    : services_(services), name_(std::move(instance_name)), handle_(new_handle(name_)) {
  handle_.instance = this;
}

InstanceHost::~InstanceHost() {
  handle_.instance = nullptr;
  while (handle_.calls.load() != 0) std::this_thread::yield();
}

const belay_host_api* InstanceHost::api() noexcept { return &kHost; }

InstanceHost& InstanceHost::from(belay_host* raw) {
  Handle& handle = handle_of(raw);
  if (InstanceHost* instance = handle.instance.load()) return *instance;
  warn_of_late_call(handle);
  fail(Code::kFailedPrecondition, "the instance '" + escaped(handle.name) + "' has been destroyed");
}

}  // namespace belay::runtime
