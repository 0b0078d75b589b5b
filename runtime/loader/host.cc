// SPDX-License-Identifier: Apache-2.0
#include "runtime/loader/host.h"

namespace belay::runtime {
namespace {

using detail::str;
using detail::view;

LogLevel level_of(std::int32_t level) noexcept {
  if (level >= BELAY_LOG_ERROR) return LogLevel::kError;
  if (level >= BELAY_LOG_WARNING) return LogLevel::kWarning;
  return level >= BELAY_LOG_INFO ? LogLevel::kInfo : LogLevel::kDebug;
}

const HostServices& services(belay_host* host) noexcept { return InstanceHost::from(host).services(); }

// Calls f; what it throws ends here, since nothing may pass into a plugin's frames. A log that fails must not end a
// run.
template <class F>
auto contained(F&& f) noexcept -> decltype(f()) {
  try {
    return f();
  } catch (...) {
    return decltype(f())();
  }
}

void log(belay_host* host, std::int32_t level, belay_str text) {
  contained([&] { services(host).logger().log(level_of(level), InstanceHost::from(host).name(), view(text)); });
}
std::int32_t log_enabled(belay_host* host, std::int32_t level) {
  return contained([&] { return services(host).logger().enabled(level_of(level)) ? 1 : 0; });
}
std::int64_t monotonic_ns(belay_host* host) {
  return contained([&] { return services(host).clock().monotonic_ns(); });
}
std::int64_t wall_ns(belay_host* host) {
  return contained([&] { return services(host).clock().wall_ns(); });
}
belay_str run_directory(belay_host* host) { return str(services(host).run_directory()); }
belay_str instance_name(belay_host* host) { return str(InstanceHost::from(host).name()); }
std::uint64_t seed(belay_host* host) { return services(host).seed(); }
std::int32_t interactive(belay_host* host) {
  return contained([&] { return services(host).logger().interactive() ? 1 : 0; });
}
void status_line(belay_host* host, belay_str text) {
  contained([&] { services(host).logger().status_line(view(text)); });
}

std::int32_t mode(belay_host* host) { return services(host).mode(); }
// One process, so far.
std::int32_t rank(belay_host*) { return 0; }
std::int32_t ranks(belay_host*) { return 1; }
std::int32_t is_chief(belay_host*) { return 1; }

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
                               &is_chief};

const void* service(belay_host* host, belay_str name) { return services(host).find(view(name)); }

constexpr belay_host_api kHost{sizeof(belay_host_api), 0, &service};

}  // namespace

HostServices::HostServices(Logger& logger, Clock& clock, std::string run_directory, std::uint64_t seed)
    : logger_(logger), clock_(clock), run_directory_(std::move(run_directory)), seed_(seed) {
  add("core", &kCore);
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

const belay_host_api* InstanceHost::api() noexcept { return &kHost; }

}  // namespace belay::runtime
