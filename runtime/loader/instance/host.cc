// SPDX-License-Identifier: Apache-2.0
#include "runtime/loader/instance/host.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <mutex>
#include <thread>

#include "runtime/platform/log/plugin_words.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

using detail::str;
using detail::view;

LogLevel level_of(std::int32_t level) noexcept {
  if (level >= BELAY_LOG_ERROR) return LogLevel::kError;
  if (level >= BELAY_LOG_WARNING) return LogLevel::kWarning;
  return level >= BELAY_LOG_INFO ? LogLevel::kInfo : LogLevel::kDebug;
}

}  // namespace

// A place for one instance at a time. It stays for the next one, so a late call finds it. The number of its use shows
// that the call means another instance.
struct InstanceHost::Slot {
  explicit Slot(std::uint64_t i) : index(i) {}
  const std::uint64_t index;
  std::atomic<std::uint64_t> use{0};             // counted from 1
  std::atomic<InstanceHost*> instance{nullptr};  // null: it has ended
  std::atomic<std::uint32_t> calls{0};           // current calls of "core"
  std::atomic<std::uint64_t> warned{0};          // the last use with a late call
  std::string name;                              // of the last use; under the mutex
};

namespace {

using Slot = InstanceHost::Slot;

constexpr std::uint64_t kIndexBits = 16;
constexpr std::uint64_t kSlots = std::uint64_t{1} << kIndexBits;

// Data of the process, for all runs in it. It is never destroyed, since threads of plugins may outlive main.
struct Process {
  std::mutex mutex;
  std::array<std::atomic<Slot*>, kSlots> slots{};  // the used ones come first
  std::uint64_t n_slots = 0;
  std::vector<Slot*> free;
  std::vector<const HostServices*> services;  // their loggers exist
};
Process& process() {
  static Process& all = *new Process;
  return all;
}

Slot& take_slot(const std::string& name) {
  Process& all = process();
  const std::lock_guard lock(all.mutex);
  if (all.free.empty()) {
    if (all.n_slots == kSlots)
      fail(Code::kResourceExhausted, "[B2051] there are 65,536 plugin instances already; close a session first");
    all.free.push_back(new Slot(all.n_slots));
    all.slots[all.n_slots++] = all.free.back();
  }
  Slot& slot = *all.free.back();
  all.free.pop_back();
  slot.name = name;
  ++slot.use;
  return slot;
}

void give_back(Slot& slot) {
  slot.instance = nullptr;
  while (slot.calls.load() != 0) std::this_thread::yield();
  const std::lock_guard lock(process().mutex);
  process().free.push_back(&slot);
}

// Combines use and index in one number, never 0.
belay_host* handle_of(const Slot& slot) noexcept {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): a number, never followed
  return reinterpret_cast<belay_host*>(slot.use.load() << kIndexBits | slot.index);
}
std::uint64_t use_of(belay_host* host) noexcept { return reinterpret_cast<std::uint64_t>(host) >> kIndexBits; }
// Null: it never existed.
Slot* slot_of(belay_host* host) noexcept {
  return process().slots[reinterpret_cast<std::uint64_t>(host) & (kSlots - 1)].load();
}
// Null: it has ended.
InstanceHost* instance_of(const Slot& slot, belay_host* host) noexcept {
  InstanceHost* instance = slot.instance.load();
  return slot.use.load() == use_of(host) ? instance : nullptr;
}

// Warns once: no instance was ever given this number.
void warn_of_no_host(belay_host* host) {
  static std::atomic<bool> warned{false};
  if (warned.exchange(true)) return;
  std::fprintf(
      stderr,
      "belay: warning: a plugin calls its host with %#llx, a belay_host that never was; such calls do nothing\n",
      static_cast<unsigned long long>(reinterpret_cast<std::uint64_t>(host)));
}

std::string name_of_late(const Slot& slot, belay_host* host) {
  const std::lock_guard lock(process().mutex);
  return slot.use.load() == use_of(host) ? slot.name : "an instance that has ended";
}

// Warns once for each instance. Its run may be over, so it uses another run's log, or none.
void warn_of_late_call(Slot& slot, belay_host* host) {
  if (slot.warned.exchange(use_of(host)) == use_of(host)) return;
  const std::string name = name_of_late(slot, host);
  const std::string text =
      "it calls its host after its destroy, from a thread that still runs; such calls do nothing. The destructor has "
      "to join the plugin's threads";
  Process& all = process();
  const std::lock_guard lock(all.mutex);
  if (all.services.empty()) {
    std::fprintf(stderr, "belay: warning: %s: %s\n", escaped(name).c_str(), text.c_str());
  } else {
    all.services.back()->logger().log(LogLevel::kWarning, name, text);
  }
}

// Calls f with the instance, which does not end meanwhile. A late call returns 0. An exception of f ends here, since
// nothing may pass into a plugin's frames. A log that fails must not end a run.
template <class F>
auto with(belay_host* host, F&& f) noexcept -> decltype(f(std::declval<InstanceHost&>())) {
  Slot* const known = slot_of(host);
  if (known == nullptr) {
    warn_of_no_host(host);
    return decltype(f(std::declval<InstanceHost&>()))();
  }
  Slot& slot = *known;
  slot.calls.fetch_add(1);
  struct Leave {
    std::atomic<std::uint32_t>& calls;
    ~Leave() { calls.fetch_sub(1); }
  } leave{slot.calls};
  try {
    if (InstanceHost* instance = instance_of(slot, host)) return f(*instance);
    warn_of_late_call(slot, host);
  } catch (...) {
  }
  return decltype(f(std::declval<InstanceHost&>()))();
}

void log(belay_host* host, std::int32_t level, belay_str text) {
  with(host,
       [&](InstanceHost& h) { h.services().logger().log(level_of(level), h.name(), words_of(text, kMostLogBytes)); });
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
  with(host, [&](InstanceHost& h) { h.services().logger().status_line(words_of(text, kMostReasonBytes)); });
}

std::int32_t mode(belay_host* host) {
  return with(host, [](InstanceHost& h) { return h.services().mode(); });
}
std::int32_t rank(belay_host* host) {
  return with(host, [](InstanceHost& h) { return h.services().rank(); });
}
// An ended instance has no ranks.
std::int32_t ranks(belay_host* host) {
  return std::max(1, with(host, [](InstanceHost& h) { return h.services().ranks(); }));
}
std::int32_t is_chief(belay_host* host) {
  return with(host, [](InstanceHost& h) { return h.services().rank() == 0 ? 1 : 2; }) != 2;
}
// Returns true for an ended instance, too.
std::int32_t stopping(belay_host* host) {
  return with(host, [](InstanceHost& h) { return h.stopping() ? 1 : 2; }) != 2;
}
std::int64_t attempt(belay_host* host) {
  return with(host, [](InstanceHost& h) { return h.services().attempt(); });
}

void waits_for_disk(belay_host* host, std::int32_t begins) {
  with(host, [&](InstanceHost& h) { h.wait_for_disk(begins != 0); });
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
                               &stopping,
                               &attempt,
                               &waits_for_disk};

const void* service(belay_host* host, belay_str name) {
  if (name.size != 0 && name.data == nullptr) return nullptr;
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
  if (find(name) != nullptr) fail(Code::kAlreadyExists, fmt::format("[B2050] service \"{}\" is added twice", name));
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
  fail(Code::kFailedPrecondition, "[B2050] this service works only while a session exists");
}

InstanceHost::InstanceHost(const HostServices& services, std::string instance_name)
    : services_(services), name_(std::move(instance_name)), slot_(take_slot(name_)), raw_(handle_of(slot_)) {
  slot_.instance = this;
}

InstanceHost::~InstanceHost() {
  give_back(slot_);
  while (disk_waits_ > 0) wait_for_disk(false);
}

void InstanceHost::wait_for_disk(bool begins) noexcept {
  DiskCalls* const calls = services_.disk();
  if (calls == nullptr) return;
  if (begins) {
    disk_waits_.fetch_add(1);
    calls->begun.fetch_add(1);
  } else if (disk_waits_.fetch_sub(1) > 0) {
    calls->ended.fetch_add(1);
  } else {
    disk_waits_.fetch_add(1);
  }
}

const belay_host_api* InstanceHost::api() noexcept { return &kHost; }

InstanceHost& InstanceHost::from(belay_host* raw) {
  Slot* const known = slot_of(raw);
  if (known == nullptr)
    fail(Code::kInvalidArgument, "[B2050] there never was such a belay_host: it is the one of create");
  Slot& slot = *known;
  if (InstanceHost* instance = instance_of(slot, raw)) return *instance;
  warn_of_late_call(slot, raw);
  fail(Code::kFailedPrecondition, fmt::format("[B2050] '{}' has been destroyed", escaped(name_of_late(slot, raw))));
}

}  // namespace belay::runtime
